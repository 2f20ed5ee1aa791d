// Compares the documentation with the code: the guide to errors with the error codes, the settings that guides name with the table.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
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
    // The generated tables name older spellings as well.
    const text = readFileSync(join(root, guide), 'utf8').replace(/<!-- settings:start -->.*<!-- settings:end -->/s, '')
    const named = [...text.matchAll(/(?<![A-Z_])(?:GATEWAY|UPSTREAM)_[A-Z0-9_]*[A-Z0-9]/g)].map(([name]) => name)
    t.strictSame(
      named.filter(name => !isSetting(name)),
      [],
      guide
    )
  }
})

t.test('no document installs or runs a package that the project does not declare', async t => {
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

t.test('each relative link of a document leads to a file, and each anchor to a heading', async t => {
  const documents = ['*.md', '.github/**/*.md', 'ops/**/*.md'].flatMap(pattern => globSync(pattern, { cwd: root }))
  t.ok(documents.includes('.github/CONTRIBUTING.md'))
  for (const document of documents) {
    const text = readFileSync(join(root, document), 'utf8').replaceAll(/```.*?```|`[^`\n]*`/gs, '')
    const broken = [...text.matchAll(/\]\(([^()\s]+)\)/g)]
      .map(([, link = '']) => link)
      .filter(link => !/^(?:https?|mailto):/.test(link) && !leadsSomewhere(document, link))
    t.strictSame(broken, [], document)
  }
})

function leadsSomewhere(document: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? join(root, document) : join(root, dirname(document), path)
  if (!existsSync(target)) return false
  if (anchor === undefined) return true
  const headings = [...readFileSync(target, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading)
  return headings.some(
    heading =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-') === anchor
  )
}

t.test('the README is short and narrow', async t => {
  const lines = readFileSync(join(root, 'README.md'), 'utf8').trimEnd().split('\n')
  t.ok(lines.length <= 150, `${lines.length} lines`)
  t.strictSame(
    lines.filter(line => line.length > 100),
    []
  )
})

t.test('the index of guides has every guide', async t => {
  const index = readFileSync(join(root, 'ops/guides/README.md'), 'utf8')
  for (const guide of globSync('*.md', { cwd: join(root, 'ops/guides') })) {
    if (guide !== 'README.md') t.match(index, `](${guide})`)
  }
})

t.test('the changelog has a section for the version of the package, newest first', async t => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const sections = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').matchAll(
    /^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$/gm
  )
  const [unreleased, newest, ...older] = [...sections]
  t.strictSame([unreleased?.[1], unreleased?.[2]], ['Unreleased', undefined])
  t.equal(newest?.[1], version)
  const dates = [newest, ...older].map(section => section?.[2])
  t.strictSame(dates, dates.toSorted().toReversed())
})
