// Breaks the import rules in small trees of files, because dependency-cruiser reports success when it cannot read the modules
// (ADR 2026-11-21-import-rules-through-swc).
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { runClean } from '../support/run-clean.ts'
import { createTemporaryFolder } from '../support/temporary.ts'

const root = join(import.meta.dirname, '..', '..')
const command = join(root, 'node_modules', 'dependency-cruiser', 'bin', 'dependency-cruiser.mjs')

interface Violation {
  from: string
  rule: { name: string }
}

/** Checks a small tree of files with the project's import rules. */
async function findViolations(files: Record<string, string>): Promise<Violation[]> {
  const folder = createTemporaryFolder(t)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const folders = [...new Set(Object.keys(files).map(path => path.split('/')[0] ?? ''))].filter(
    name => name !== 'node_modules'
  )
  const config = join(root, '.dependency-cruiser.mjs')
  const cruise = [process.execPath, command, ...folders, '--config', config, '--output-type', 'json']
  const { stdout } = await runClean(cruise, { cwd: folder })
  const { summary } = JSON.parse(stdout) as { summary: { totalCruised: number; violations: Violation[] } }
  t.ok(summary.totalCruised > 0, 'dependency-cruiser finds the modules')
  return summary.violations
}

const target = 'export const value = 1\n'

t.test('each import that the design forbids is reported, for types and for values, and no other', async t => {
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
      'worker-protocols-imports-no-higher-room',
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
      'worker-http-imports-no-higher-room',
      'worker/http/a.ts',
      "import type { value } from '../routes/b.ts'",
      'worker/routes/b.ts'
    ],
    [
      'worker-routes-imports-no-higher-room',
      'worker/routes/a.ts',
      "import { value } from '../app.ts'",
      'worker/app.ts'
    ],
    [
      'supervisor-processes-imports-no-higher-room',
      'supervisor/processes/a.ts',
      "import type { value } from '../workers/b.ts'",
      'supervisor/workers/b.ts'
    ],
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
  // All in one tree: a run of the program takes a second.
  const files: Record<string, string> = {
    'worker/routes/allowed.ts': "import { value } from '../protocols/x/allowed.ts'\nexport const used = value\n",
    'worker/protocols/x/allowed.ts':
      "import { value as one } from '../../normalized/allowed.ts'\nexport const value = one\n",
    'worker/normalized/allowed.ts': target
  }
  const numbered = (text: string, number: number) => text.replace(/([ab])\.ts/, `$1${number}.ts`)
  for (const [number, [, path, line, imported]] of cases.entries()) {
    files[numbered(path, number)] = `${numbered(line, number)}\nexport const used = value\n`
    files[numbered(imported, number)] = target
  }
  const violations = await findViolations(files)
  for (const [number, [rule, path, , imported]] of cases.entries()) {
    const broken = violations.filter(({ from }) => from === numbered(path, number))
    t.ok(
      broken.some(({ rule: { name } }) => name === rule),
      `${rule}: ${path} → ${imported}`
    )
  }
  t.strictSame(
    violations.filter(({ from }) => from.endsWith('allowed.ts')),
    []
  )
})

t.test('a library that signs may be imported when it is used, and not before', async t => {
  const violations = await findViolations({
    'worker/providers/lazy.ts': "export const load = () => import('jose')\n",
    'worker/providers/eager.ts': "import { value } from 'jose'\nexport const used = value\n",
    'node_modules/jose/package.json': '{"name":"jose","version":"1.0.0","type":"module","exports":"./index.js"}',
    'node_modules/jose/index.js': 'export const value = 1\n'
  })
  t.strictSame(
    violations
      .filter(({ rule: { name } }) => name === 'signing-libraries-are-loaded-when-used')
      .map(({ from }) => from),
    ['worker/providers/eager.ts']
  )
})

t.test('every folder of a plane has its floor', async t => {
  const config = pathToFileURL(join(root, '.dependency-cruiser.mjs')).href
  const { default: rules } = (await import(config)) as { default: { forbidden: Array<{ name: string }> } }
  const names = rules.forbidden.map(({ name }) => name)
  for (const plane of ['supervisor', 'worker']) {
    const folders = readdirSync(join(root, plane), { withFileTypes: true }).filter(entry => entry.isDirectory())
    const missing = folders.filter(({ name }) => !names.includes(`${plane}-${name}-imports-no-higher-room`))
    t.strictSame(
      missing.map(({ name }) => name),
      []
    )
  }
})
