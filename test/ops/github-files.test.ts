// The files that a code host reads: they parse, and agree with the project.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { NOTICES, writeNotices } from '../../ops/build/notices.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const { scripts, engines, devDependencies } = JSON.parse(read('package.json'))

interface Step {
  uses?: string
  run?: string
}

interface Job {
  uses?: string
  steps?: Step[]
  'timeout-minutes'?: number
  permissions?: Record<string, string>
  strategy?: { matrix: { node: number[] } }
}

interface Workflow {
  name: string
  on: object
  permissions: Record<string, string>
  jobs: Record<string, Job>
}

const workflows = globSync('.github/workflows/*.yml', { cwd: root }).map(path => ({
  path,
  workflow: parse(read(path)) as Workflow
}))

t.test('a workflow may only read, runs for a bounded time, and takes actions by their major version', async t => {
  t.equal(workflows.length, 2)
  for (const { path, workflow } of workflows) {
    t.strictSame(
      Object.keys(workflow)
        .toSorted()
        .filter(key => key !== 'concurrency'),
      ['jobs', 'name', 'on', 'permissions'],
      path
    )
    t.strictSame(workflow.permissions, { contents: 'read' }, path)
    for (const job of Object.values(workflow.jobs)) {
      if (job.uses !== undefined) t.ok(globSync(job.uses, { cwd: root }).length === 1, job.uses)
      else t.ok(job['timeout-minutes'], path)
      for (const { uses } of job.steps ?? []) if (uses !== undefined) t.match(uses, /^actions\/[\w-]+@v\d+$/, path)
    }
  }
})

t.test('only the job that creates a release may write, after the tests', async t => {
  const jobs = workflows.flatMap(({ workflow }) => Object.entries(workflow.jobs))
  t.strictSame(
    jobs.filter(([, { permissions }]) => permissions !== undefined).map(([name]) => name),
    ['release']
  )
  const text = read('.github/workflows/release.yml')
  t.match(text, /^ {4}needs: test$/m)
  t.notMatch(text, /npm publish/)
  t.match(text, /run: npm run sbom$/m)
  t.match(text, /gh release create .*\.tgz .*sbom\.\*\.json .*THIRD_PARTY_NOTICES/)
})

t.test('the notices of licenses are those of the packages that are installed (npm run notices)', async t => {
  const written = writeNotices()
  t.ok(readFileSync(NOTICES, 'utf8') === written, 'run npm run notices')
  for (const name of ['better-sqlite3', 'fastify', 'preact', 'swagger-ui-dist', 'undici', 'uplot', 'zod'])
    t.ok(new RegExp(`^${name}@\\d`, 'm').test(written), name)
  t.notOk(/^(?:tap|vite|typescript)@/m.test(written), 'tools of development are not shipped')
  t.notOk(/\(unknown\)$/m.test(written))
})

t.test('what .ci/run runs is run on the lowest and the default version of Node', async t => {
  const { jobs } = parse(read('.github/workflows/test.yml')) as Workflow
  const { strategy, steps = [] } = jobs.test ?? {}
  t.ok(steps.some(({ run }) => run === '.ci/run'))
  const majors = strategy?.matrix.node ?? []
  const majorOf = (range: string) => Number(/\d+/.exec(range)?.[0])
  t.ok(majors.includes(majorOf(engines.node)), engines.node)
  t.ok(majors.includes(majorOf(devDependencies.node)), devDependencies.node)
})

t.test('scripts that the files for contributors name exist', async t => {
  for (const path of ['.github/CONTRIBUTING.md', '.github/PULL_REQUEST_TEMPLATE.md', 'README.md', '.ci/run']) {
    for (const [, name = ''] of read(path).matchAll(/npm run (?:--silent )?([a-z][\w:-]*)/g))
      t.ok(name in scripts, `${path}: ${name}`)
  }
})

t.test('files that the page for contributors names exist', async t => {
  const page = read('.github/CONTRIBUTING.md')
  const named = [...page.matchAll(/`((?:worker|shared|test|ops|supervisor)\/[\w./-]*)`/g)].map(([, path = '']) => path)
  t.ok(named.length > 20)
  for (const path of named) t.equal(globSync(path, { cwd: root }).length, 1, path)
})

t.test('issue forms have what a code host needs to show them', async t => {
  for (const path of globSync('.github/ISSUE_TEMPLATE/*.yml', { cwd: root })) {
    if (path.endsWith('config.yml')) continue
    const form = parse(read(path))
    t.match(form, { name: String, description: String, labels: [String], body: Array }, path)
    const ids = form.body.flatMap(({ id }: { id?: string }) => id ?? [])
    t.equal(new Set(ids).size, ids.length, path)
    for (const { type, attributes } of form.body) {
      t.ok(['markdown', 'input', 'textarea', 'dropdown', 'checkboxes'].includes(type), type)
      t.type(type === 'markdown' ? attributes.value : attributes.label, 'string', path)
    }
  }
})

t.test('dependency updates come in groups, and older generations stay in their major version', async t => {
  const { version, updates } = parse(read('.github/dependabot.yml'))
  t.equal(version, 2)
  t.match(updates, [{ 'package-ecosystem': 'npm' }, { 'package-ecosystem': 'github-actions' }])
  for (const { directory, schedule, groups } of updates)
    t.match({ directory, schedule, groups }, { directory: '/', schedule: { interval: 'weekly' }, groups: Object })
  const ignored: string[] = updates[0].ignore.map((entry: { 'dependency-name': string }) => entry['dependency-name'])
  for (const [alias, range] of Object.entries<string>(devDependencies)) {
    if (!range.startsWith('npm:')) continue
    t.ok(
      ignored.some(pattern => alias.startsWith(pattern.replace('*', ''))),
      alias
    )
  }
})
