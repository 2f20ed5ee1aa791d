// The steps of the sequence in their order. Each either holds and is reported, or throws a StepFailure that names it.

import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePort } from '../net/free-port.ts'
import { type Artifact, linkDependencies, packArtifact, unpackArtifact } from './artifact.ts'
import {
  checkCapabilities,
  checkModels,
  checkReadiness,
  type Document,
  parse,
  publicProtocols,
  type Revisions,
  readInspection
} from './documents.ts'
import { runNode, type Started, startNode, startUpstream } from './processes.ts'
import { StepFailure } from './step-failure.ts'
import { sendTraffic } from './traffic.ts'

export interface SequenceOptions {
  /** The checkout that is packed, and whose dependencies are used. */
  checkout: string
  folder: string
  /** A folder that only the operator can read. */
  protectedFolder: string
  /** A tarball that is packed already. */
  artifact?: string
  /** A profile file of the operator, with the model to ask for and whether to send it traffic. */
  own?: { config: string; model: string; traffic: boolean }
  writeProfile(name: string, text: string): string
  report(line: string): void
}

interface Plan {
  config: string
  model: string
  env: NodeJS.ProcessEnv
  hasTraffic: boolean
  /** Values that no output may contain. */
  secrets: string[]
}

const PREFLIGHT_DEADLINE_MS = 20_000
const HEALTH_DEADLINE_MS = 30_000
const READY_DEADLINE_MS = 15_000
const EXIT_DEADLINE_MS = 20_000
const POLL_MS = 100
const MODEL = 'sidecar/chat'

/** Plays every step. Throws StepFailure at the first that does not hold; every process that was started has ended then. */
export async function playSequence(options: SequenceOptions): Promise<void> {
  const running: Started[] = []
  const step = createStepper(options.report)
  try {
    const tarball = options.artifact ?? (await step('pack', () => packArtifact(options.checkout, options.folder)))
    const artifact = await step(
      'install',
      () => install(options, tarball),
      ({ version }) => version
    )
    const plan = await step(
      'profile',
      () => preparePlan(options, artifact, running),
      ({ config }) => config
    )
    const inspected = await step(
      'preflight',
      () => runPreflight(options, artifact, plan),
      ({ config }) => config
    )
    await serve({ options, artifact, plan, revisions: inspected, step, running })
  } finally {
    for (const { child, exited } of running.toReversed()) {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await exited
    }
  }
}

type Stepper = <Result>(
  name: string,
  run: () => Promise<Result>,
  describe?: (result: Result) => string
) => Promise<Result>

function createStepper(report: (line: string) => void): Stepper {
  return async (name, run, describe) => {
    try {
      const result = await run()
      report(`ok        ${name.padEnd(14)} ${describe?.(result) ?? ''}`.trimEnd())
      return result
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new StepFailure(`${name}: ${reason}`)
    }
  }
}

async function install({ folder, checkout }: SequenceOptions, tarball: string): Promise<Artifact> {
  const artifact = await unpackArtifact(tarball, folder)
  linkDependencies(artifact, folder, checkout)
  return artifact
}

/** Writes the profile and its credential, or takes those of the operator. */
async function preparePlan(options: SequenceOptions, artifact: Artifact, running: Started[]): Promise<Plan> {
  if (options.own !== undefined) {
    const { config, model, traffic } = options.own
    return { config, model, env: process.env, hasTraffic: traffic, secrets: [] }
  }
  const env = { PATH: process.env.PATH }
  const { started, chatBaseUrl } = await startUpstream(join(artifact.folder, 'dist/ops/emulator/main.js'), {
    env,
    cwd: options.folder,
    deadlineMs: HEALTH_DEADLINE_MS
  })
  running.push(started)
  const secret = randomBytes(24).toString('base64url')
  return {
    config: options.writeProfile('profile.yaml', writeProfile(chatBaseUrl)),
    model: MODEL,
    env: { ...env, SIDECAR_PROVIDER_KEY: secret },
    hasTraffic: true,
    secrets: [secret]
  }
}

function writeProfile(baseUrl: string): string {
  return `schema_version: gateway.provider-profiles.v3
profiles:
  - profile_id: sidecar-chat
    provider_kind: chat_compatible
    base_url: ${baseUrl}
    credential_env: SIDECAR_PROVIDER_KEY
    allow_loopback: true
    network_policy_ref: loopback-development
    tls_policy_ref: system-default
    models:
      - public_alias: ${MODEL}
        upstream_model: emulator-large
        capability_profile: sidecar-v1
        support_status: technical_preview
        capabilities:
          features: [roles, ordered_content_parts, text, generation_controls, stream_deltas, stream_terminal_events,
                     stop_reason, usage, model_identity, request_error_classes, cancellation, context_token_limits]
          limits: {context_window: 8192}
`
}

/** Accepts only exit 0 with one valid document without a secret. */
async function runPreflight(options: SequenceOptions, artifact: Artifact, plan: Plan): Promise<Revisions> {
  const { code, stdout, stderr } = await runNode([artifact.entry, '--inspect-config', '--config', plan.config], {
    env: plan.env,
    cwd: options.protectedFolder,
    deadlineMs: PREFLIGHT_DEADLINE_MS
  })
  if (code !== 0) throw new StepFailure(`exit code ${code}${readErrorCode(stdout)}`)
  refuseSecrets(stdout + stderr, plan.secrets)
  const { revisions, aliases } = readInspection(stdout)
  if (options.own === undefined && !aliases.includes(plan.model)) throw new StepFailure('the alias is missing')
  return revisions
}

function readErrorCode(output: string): string {
  const code = /"code":"([a-z_]+)"/.exec(output)?.[1]
  return code === undefined ? '' : `, ${code}`
}

interface Serving {
  options: SequenceOptions
  artifact: Artifact
  plan: Plan
  revisions: Revisions
  step: Stepper
  running: Started[]
}

async function serve({ options, artifact, plan, revisions, step, running }: Serving): Promise<void> {
  const logFile = join(options.protectedFolder, 'gateway.log')
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}`
  const gateway = startNode(
    [artifact.entry, '--config', plan.config, '--host', '127.0.0.1', '--port', String(port), '--workers', '2'],
    { env: { ...plan.env, GATEWAY_LOG_FILENAME: logFile }, cwd: options.protectedFolder }
  )
  running.push(gateway)
  await step(
    'health',
    () => waitForHealth(url, gateway),
    () => url
  )
  await step('ready', () => waitForReadiness(url, revisions))
  await step('models', async () => checkModels(await fetchDocument(`${url}/bridge/models`), plan.model, revisions))
  await step(
    'capabilities',
    async () => {
      for (const protocol of publicProtocols) {
        const query = new URLSearchParams({ model: plan.model, protocol, api_mode: 'v1' })
        const document = await fetchDocument(`${url}/bridge/capabilities?${query}`)
        checkCapabilities(document, { model: plan.model, protocol, revisions })
      }
    },
    () => publicProtocols.join(', ')
  )
  if (plan.hasTraffic)
    await step(
      'traffic',
      () => sendTraffic(url, plan.model),
      count => `${count} requests`
    )
  // The gateway of an operator may run in PROD, where these pages do not exist.
  if (options.own === undefined) await step('docs', () => checkDocs(url))
  await step('stop', () => stop(gateway))
  await step('secrets', async () => {
    refuseSecrets(gateway.output() + readFileSync(logFile, 'utf8'), plan.secrets)
  })
}

async function waitForHealth(url: string, gateway: Started): Promise<void> {
  await poll(HEALTH_DEADLINE_MS, async () => {
    if (gateway.child.exitCode !== null) throw new StepFailure(`the gateway ended with ${gateway.child.exitCode}`)
    const response = await fetch(`${url}/health`).catch(() => undefined)
    await response?.arrayBuffer()
    return response?.status === 200 ? undefined : `status ${response?.status ?? 'none'}`
  })
}

/** Waits for readiness, with the revisions of the preflight. */
async function waitForReadiness(url: string, revisions: Revisions): Promise<void> {
  await poll(READY_DEADLINE_MS, async () => {
    try {
      checkReadiness(await fetchDocument(`${url}/ready`), revisions)
      return undefined
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  })
}

/** Repeats a check until it gives no reason to wait. Throws StepFailure with the last reason at the deadline. */
async function poll(deadlineMs: number, check: () => Promise<string | undefined>): Promise<void> {
  const deadline = Date.now() + deadlineMs
  for (;;) {
    const reason = await check()
    if (reason === undefined) return
    if (Date.now() > deadline) throw new StepFailure(`${reason}, after ${deadlineMs / 1000} s`)
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
}

async function fetchDocument(url: string): Promise<Document> {
  const response = await fetch(url, { signal: AbortSignal.timeout(READY_DEADLINE_MS) })
  return parse(await response.text())
}

/** The pages of the API documentation and all files that they load come from the artifact. */
async function checkDocs(url: string): Promise<void> {
  for (const path of ['/docs', '/redoc']) {
    const page = await fetchPresent(url + path)
    for (const [, file] of page.matchAll(/ (?:src|href)="(docs\/[^"]+)"/g)) await fetchPresent(`${url}/${file}`)
    if (path === '/docs' && !page.includes('swagger-ui-bundle.js')) throw new StepFailure('/docs is not interactive')
  }
  if (parse(await fetchPresent(`${url}/openapi.json`)).openapi !== '3.1.0') throw new StepFailure('no OpenAPI 3.1.0')
}

async function fetchPresent(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(READY_DEADLINE_MS) })
  if (response.status !== 200) throw new StepFailure(`${new URL(url).pathname}: status ${response.status}`)
  return await response.text()
}

async function stop({ child, exited }: Started): Promise<void> {
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), EXIT_DEADLINE_MS)
  const code = await exited
  clearTimeout(timer)
  if (code !== 0) throw new StepFailure(`exit code ${code ?? 'none, it had to be killed'}`)
}

function refuseSecrets(text: string, secrets: readonly string[]): void {
  if (secrets.some(secret => text.includes(secret))) throw new StepFailure('the output contains a secret')
}
