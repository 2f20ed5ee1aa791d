// Breaks the import rules in small trees of files, because dependency-cruiser reports success when it cannot read the modules
// (ADR 2026-11-21-import-rules-through-swc).
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { runClean } from '../support/processes.ts'
import { createTemporaryFolder } from '../support/temporary.ts'

const root = join(import.meta.dirname, '..', '..')
const command = join(root, 'node_modules', 'dependency-cruiser', 'bin', 'dependency-cruiser.mjs')

/** Checks a small tree of files with the project's import rules; returns the names of the broken rules. */
async function findBrokenRules(files: Record<string, string>): Promise<string[]> {
  const folder = createTemporaryFolder(t)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const folders = [...new Set(Object.keys(files).map(path => path.split('/')[0] ?? ''))]
  const config = join(root, '.dependency-cruiser.mjs')
  const cruise = [process.execPath, command, ...folders, '--config', config, '--output-type', 'json']
  const { stdout } = await runClean(cruise, { cwd: folder })
  const { summary } = JSON.parse(stdout) as {
    summary: { totalCruised: number; violations: Array<{ rule: { name: string } }> }
  }
  t.ok(summary.totalCruised > 0, 'dependency-cruiser finds the modules')
  return summary.violations.map(({ rule }) => rule.name)
}

const target = 'export const value = 1\n'

t.test('each import that the design forbids is reported, for types and for values', async t => {
  const cases: Array<[string, string, string, string]> = [
    ['shared-is-the-bottom', 'shared/a.ts', "import { value } from '../worker/b.ts'", 'worker/b.ts'],
    [
      'supervisor-sees-only-shared',
      'supervisor/a.ts',
      "import type { value } from '../worker/protocols/b.ts'",
      'worker/protocols/b.ts'
    ],
    ['worker-sees-only-shared', 'worker/a.ts', "import { value } from '../supervisor/b.ts'", 'supervisor/b.ts'],
    [
      'normalized-imports-nothing',
      'worker/normalized/a.ts',
      "import { value } from '../bridge/b.ts'",
      'worker/bridge/b.ts'
    ],
    [
      'protocols-imports-no-higher-room',
      'worker/protocols/x/a.ts',
      "import { value } from '../../providers/b.ts'",
      'worker/providers/b.ts'
    ],
    [
      'codecs-and-decisions-do-no-io',
      'worker/protocols/x/a.ts',
      "import { connect as value } from 'node:net'",
      'worker/protocols/x/b.ts'
    ],
    [
      'http-imports-no-higher-room',
      'worker/http/a.ts',
      "import type { value } from '../routes/b.ts'",
      'worker/routes/b.ts'
    ],
    ['routes-imports-no-higher-room', 'worker/routes/a.ts', "import { value } from '../app.ts'", 'worker/app.ts'],
    [
      'only-the-registries-know-the-kinds',
      'worker/execution/a.ts',
      "import { value } from '../providers/native/b.ts'",
      'worker/providers/native/b.ts'
    ],
    [
      'families-do-not-know-each-other',
      'worker/protocols/x/a.ts',
      "import { value } from '../y/b.ts'",
      'worker/protocols/y/b.ts'
    ]
  ]
  for (const [rule, path, line, imported] of cases) {
    const broken = await findBrokenRules({ [path]: `${line}\nexport const used = value\n`, [imported]: target })
    t.ok(broken.includes(rule), `${rule}: ${path} → ${imported}`)
  }
})

t.test('the imports that the design allows are not reported', async t => {
  const broken = await findBrokenRules({
    'worker/routes/a.ts': "import { value } from '../protocols/x/b.ts'\nexport const used = value\n",
    'worker/protocols/x/b.ts': "import { value as one } from '../../normalized/c.ts'\nexport const value = one\n",
    'worker/normalized/c.ts': target
  })
  t.strictSame(broken, [])
})
