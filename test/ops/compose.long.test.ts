// Each part of the compose files merged with the base by the reference implementation of the Compose Specification, and a start planned
// with what the gateway gets. `.ci/run` builds compose-go.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { planRuntime } from '../../supervisor/plan/runtime-plan.ts'
import { type ComposeProject, composeFolder, composeParts } from '../support/compose.ts'
import { findProgram, whyWithoutProgram } from '../support/programs.ts'
import { createTemporaryFolder } from '../support/temporary.ts'

const skip = whyWithoutProgram('compose-go')
const projects = [
  ['compose.yaml'],
  ['demo.yaml'],
  ...composeParts.map(part => ['compose.yaml', part]),
  ['compose.yaml', 'postgres.yaml', 'redis.yaml', 'tracing.yaml', 'monitoring.yaml', 'nginx.yaml']
]

/** Texts of secrets that must have a form. */
const texts: Readonly<Record<string, string>> = {
  'postgres-dsn': 'postgres://gateway:word@postgres:5432/gateway',
  'upstream-credentials': 'Y2xpZW50OnNlY3JldA=='
}

function load(files: readonly string[]): ComposeProject {
  const output = execFileSync(findProgram('compose-go'), ['--format', 'json', ...files], {
    cwd: composeFolder,
    encoding: 'utf8'
  })
  return JSON.parse(output)
}

for (const files of projects) {
  t.test(`${files.join(' and ')} make a project that the gateway starts with`, { skip }, async t => {
    const { services, secrets = {}, configs = {}, networks = {} } = load(files)
    const folder = createTemporaryFolder(t)
    const { gateway } = services
    const write = (path: string, text: string) => {
      const file = join(folder, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text, { mode: 0o600 })
    }
    for (const secret of gateway?.secrets ?? []) {
      if (typeof secret === 'string') throw new Error('Secrets have a target.')
      t.ok(secrets[secret.source], secret.source)
      write(secret.target, texts[secret.source] ?? `the-secret-of-${secret.source}`)
    }
    const inFolder = (text: string) => text.replaceAll(/\/run\/secrets|\/etc\/llm-gateway/g, path => join(folder, path))
    for (const { source, target } of gateway?.configs ?? []) {
      write(target, inFolder(readFileSync(configs[source]?.file ?? '', 'utf8')))
    }
    const environment = Object.fromEntries(
      Object.entries(gateway?.environment ?? {}).map(([name, value]) => [name, inFolder(String(value))])
    )
    const { warnings } = planRuntime({ environment, options: { variables: {}, isDemo: files.includes('demo.yaml') } })
    t.strictSame(warnings, [])
    for (const [name, network] of Object.entries(networks)) {
      if (name !== 'default') t.equal(network?.internal, true, `${name} has no way out`)
    }
  })
}

t.test('Prometheus accepts the configuration of its container', { skip: whyWithoutProgram('promtool') }, async t => {
  const folder = createTemporaryFolder(t)
  const text = readFileSync(join(composeFolder, 'prometheus.yml'), 'utf8')
  writeFileSync(join(folder, 'api-key'), 'key')
  writeFileSync(join(folder, 'prometheus.yml'), text.replace('/run/secrets/', ''))
  writeFileSync(join(folder, 'gateway.rules.yml'), readFileSync(join(composeFolder, '../prometheus/gateway.rules.yml')))
  t.match(
    execFileSync(findProgram('promtool'), ['check', 'config', 'prometheus.yml'], { cwd: folder, encoding: 'utf8' }),
    'SUCCESS'
  )
})
