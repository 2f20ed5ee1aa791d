// Compares the documentation with the code: the guide to errors with the error codes, the settings that guides name with the table.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { settingNames } from '../../shared/settings/table.ts'
import { errorDefinitions, GatewayError } from '../../worker/normalized/index.ts'
import { clientFaces } from '../../worker/protocols/registry.ts'

const root = join(import.meta.dirname, '..', '..')

t.test('the guide to errors lists every error code and no other code', async t => {
  const guide = readFileSync(join(root, 'ops', 'guides', 'errors.md'), 'utf8')
  const documented = [...guide.matchAll(/^\| `([a-z_]+)` +\|/gm)].map(([, code]) => code ?? '')
  t.strictSame([...new Set(documented)].sort(), Object.keys(errorDefinitions).sort())
})

t.test('the example of the guide to errors is what a request without a role gets', async t => {
  const guide = readFileSync(join(root, 'ops', 'guides', 'errors.md'), 'utf8')
  const [, example = ''] = /```json\n(.*?)```/s.exec(guide) ?? []
  const { completions } = clientFaces
  try {
    completions.readRequest({ model: 'm', messages: [{ content: 'hi' }] }, { requestId: 'r' })
    t.fail('the request is refused')
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    t.strictSame(completions.writeError(error, { requestId: 'r' }).body, JSON.parse(example))
  }
})

t.test('every setting that a guide names is a row of the settings table', async t => {
  const isSetting = (name: string) => settingNames.some(known => known === name || `${known}_FILE` === name)
  const guides = globSync('ops/guides/*.md', { cwd: root })
  t.ok(guides.length > 0)
  for (const guide of guides) {
    const text = readFileSync(join(root, guide), 'utf8')
    const named = [...text.matchAll(/(?<![A-Z_])(?:GATEWAY|UPSTREAM)_[A-Z0-9_]*[A-Z0-9]/g)].map(([name]) => name)
    t.strictSame(
      named.filter(name => !isSetting(name)),
      [],
      guide
    )
  }
})

t.test('no document installs or runs a package of somebody else', async t => {
  const { name, version, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const allowed = [`./${name}-${version}.tgz`, ...Object.keys(devDependencies)]
  const documents = ['*.md', '.github/**/*', 'ops/**/*.{md,yaml,service,conf}', 'supervisor/**/*.ts', 'ops/**/*.ts']
  const files = documents.flatMap(pattern => globSync(pattern, { cwd: root, exclude: ['**/node_modules/**'] }))
  t.ok(files.includes('ops/guides/deployment.md'))
  for (const file of files.filter(path => /\.\w+$/.test(path))) {
    const text = readFileSync(join(root, file), 'utf8')
    const commands = text.matchAll(/\b(?:npx|npm (?:exec|install|i))((?: --?[\w-]+)*) (?!--)([@./\w-]+)/g)
    const named = [...commands].map(([, , one = '']) => one.replace(/(?<=\w)@[\w.-]*$/, ''))
    t.strictSame(
      named.filter(one => !allowed.includes(one)),
      [],
      file
    )
  }
})
