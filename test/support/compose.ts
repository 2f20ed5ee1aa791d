// Reads the compose files, and checks what must hold for each of them.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Test } from 'tap'
import { parse } from 'yaml'
import { settingNames, settingsTable } from '../../shared/settings/table.ts'

export const composeFolder = join(import.meta.dirname, '../../ops/compose')
/** Files that a container reads. */
const MOUNTED = new Set(['collector.yaml', 'keys.yaml'])
/** Whole projects; the others are parts of the first. */
const WHOLE = ['compose.yaml', 'demo.yaml']

export interface ComposeService {
  image?: string
  environment?: Record<string, string | number>
  read_only?: boolean
  network_mode?: string
  ports?: Array<string | { host_ip: string }>
  secrets?: Array<string | { source: string; target: string }>
  configs?: Array<{ source: string; target: string }>
  volumes?: Array<string | { source: string; target: string }>
  cap_drop?: string[]
  security_opt?: string[]
  stop_grace_period?: string
  healthcheck?: object
}

export interface ComposeProject {
  services: Record<string, ComposeService>
  secrets?: Record<string, { file: string }>
  configs?: Record<string, { file: string }>
  networks?: Record<string, { internal?: boolean } | null>
}

export const composeFiles: readonly string[] = globSync('*.yaml', { cwd: composeFolder })
  .filter(name => !MOUNTED.has(name))
  .sort()

/** The parts that are added to `compose.yaml`. */
export const composeParts: readonly string[] = composeFiles.filter(name => !WHOLE.includes(name))

export function readCompose(name: string): ComposeProject {
  return parse(readFileSync(join(composeFolder, name), 'utf8'))
}

const schema = JSON.parse(readFileSync(join(import.meta.dirname, '../fixtures/schemas/compose.json'), 'utf8'))
const validate = new Ajv2020({ strict: false, allErrors: true, validateFormats: false }).compile(schema)

/** What the schema of the Compose Specification says against a file. */
export function findComposeErrors(project: ComposeProject): string[] {
  if (validate(project)) return []
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

/** Checks what each service of a file or of a merged project says of itself; a part says of the gateway only what it adds. */
export function checkServices(
  t: Test,
  { services, secrets = {}, configs = {} }: ComposeProject,
  isPart: boolean
): void {
  for (const [name, service] of Object.entries(services)) {
    for (const port of service.ports ?? []) {
      const address = typeof port === 'string' ? port : `${port.host_ip}:`
      t.match(address, /^127\.0\.0\.1:/, `${name} is published on the loopback address`)
    }
    for (const { source } of service.configs ?? []) t.ok(configs[source], `${name} ${source}`)
    for (const secret of service.secrets ?? []) {
      const source = typeof secret === 'string' ? secret : secret.source
      t.ok(secrets[source] ?? (isPart && readCompose('compose.yaml').secrets?.[source]), `${name} ${source}`)
    }
    if (name === 'gateway') checkSettings(t, service)
    if (isPart && name === 'gateway') continue
    t.match(service.image, /^[\w./-]+:(?:\$\{GATEWAY_VERSION:-)?v?\d+[\w.]*\}?$/, `${name} has a pinned image`)
    t.match(service.security_opt, ['no-new-privileges:true'], name)
    t.ok(service.healthcheck, `${name} has a health check, or says why not`)
    t.ok(readSeconds(service.stop_grace_period) > 0, `${name} has time for its stop`)
    // OpenSearch writes into its own folder.
    if (name !== 'opensearch') t.equal(service.read_only, true, `${name} has a read-only root`)
  }
  for (const { file } of Object.values(configs)) t.ok(existsSync(join(composeFolder, file)), file)
  for (const { file } of Object.values(secrets)) t.match(file, /^\.\/secrets\//)
}

function checkSettings(t: Test, { environment = {} }: ComposeService): void {
  for (const [name, value] of Object.entries(environment)) {
    const setting = settingNames.find(known => known === name || `${known}_FILE` === name)
    t.ok(setting, `${name} is a setting`)
    const isSecret = setting !== undefined && settingsTable[setting].isSecret && name === setting
    t.notOk(isSecret && !/^redis:\/\/redis:6379$/.test(String(value)), `${name} has no secret`)
  }
}

/** Such as 90 of `1m30s`. */
export function readSeconds(duration = ''): number {
  const [, minutes = '0', seconds = '0'] = /^(?:(\d+)m)?(?:(\d+)s)?$/.exec(duration) ?? []
  return Number(minutes) * 60 + Number(seconds)
}
