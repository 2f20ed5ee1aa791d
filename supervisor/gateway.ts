// Starts the gateway from its configuration and stops it again: plan, embedded upstream, log, port, workers, and the same in reverse.
import { createHash, randomBytes } from 'node:crypto'
import { deriveCompactionKey, writeCompactionKey } from '../shared/compaction-key.ts'
import type { ListenOptions } from '../shared/ipc/messages.ts'
import type { JsonObject } from '../shared/json.ts'
import { createRuntimeLog, type Logger, type LogOutput, type RuntimeLog } from '../shared/logging.ts'
import { listServices, type ServiceName } from '../shared/services.ts'
import { describeEffectiveSettings, describeSecurityPosture, listSecretTexts } from '../shared/settings/effective.ts'
import { isAuthRequired, type Settings } from '../shared/settings.ts'
import { StartupError } from '../shared/startup-error.ts'
import type { Children } from './children.ts'
import { startControl } from './control.ts'
import { writeBaseUrl, writeDemoBanner } from './demo/demo-banner.ts'
import { createDemoStorage, type DemoStorage } from './demo/demo-storage.ts'
import { chooseDemoPort, type DemoUpstream, startDemoUpstream } from './demo/demo-upstream.ts'
import { describeKeys } from './keys/describe-keys.ts'
import { createKeysInForce } from './keys/keys-in-force.ts'
import { EXIT_CODES, type ExitCode } from './lifecycle/exit-codes.ts'
import { exitCodeBeforeStart } from './lifecycle/lifecycle.ts'
import type { OperatorSignals } from './lifecycle/signals.ts'
import { nameUnexpected, StartFailure, toListenFailure, toStartFailure } from './lifecycle/start-failure.ts'
import { canSharePort, type PortReservation, reservePort } from './listening/port-reservation.ts'
import type { OpenMetrics } from './metrics/open.ts'
import { type PlanSources, planRuntime, type RuntimePlan } from './plan/runtime-plan.ts'
import { DEFAULT_HEALTH_POLICY } from './processes/process-keeper.ts'
import { createRestartPolicy } from './processes/restart-policy.ts'
import { createPrivateSockets, type PrivateSockets } from './services/private-sockets.ts'
import { warnOfMissingCredentials } from './startup-checks/upstream.ts'

export interface GatewayContext {
  readonly version: string
  readonly signals: OperatorSignals
  readonly createChildren: (plan: RuntimePlan, listen: ListenOptions) => Children
  readonly stdout: LogOutput
  /** Writes one line to stderr, for the operator. */
  readonly writeError: (line: string) => void
  /** Writes how the command line is used to stderr. */
  readonly writeUsage: () => void
  /** Calls the listener with what was thrown, which need not be an error. */
  readonly onUncaughtError: (listener: (thrown: unknown) => void) => void
  readonly exit: (code: ExitCode) => never
  /** Called with the base URL when the gateway listens. */
  readonly reportListening: (url: string) => void
}

/** What is open and must be closed before the exit, latest first. */
interface Owned {
  demo: DemoUpstream | undefined
  demoStorage: DemoStorage | undefined
  runtimeLog: RuntimeLog | undefined
  reservation: PortReservation | undefined
  metrics: OpenMetrics | undefined
  sockets: PrivateSockets | undefined
}

/** Runs until the gateway has stopped; returns the exit code. A stop signal at any step ends it cleanly. */
export async function runGateway(sources: PlanSources, context: GatewayContext): Promise<ExitCode> {
  const stopping = new AbortController()
  let stop = () => stopping.abort()
  context.signals.onStop(() => stop())
  const owned: Owned = {
    demo: undefined,
    demoStorage: undefined,
    runtimeLog: undefined,
    reservation: undefined,
    metrics: undefined,
    sockets: undefined
  }
  context.onUncaughtError(thrown => crash(thrown, owned, context))
  try {
    const plan = await preparePlan(sources, { owned, stdout: context.stdout, signal: stopping.signal })
    const runtimeLog = openLog(plan, sources.options, context.stdout)
    owned.runtimeLog = runtimeLog
    const { log } = runtimeLog
    describeStart(log, plan, context.version)
    watchDemo(owned, log)
    const listen = await prepareListening(plan, owned, log)
    const keys = createKeysInForce(plan.keys)
    if (plan.settings.metricsEnabled) {
      const { openMetrics } = await import('./metrics/open.ts')
      owned.metrics = await openMetrics({ log, keys }, plan)
    }
    const socketPaths = openSockets(listServices(plan.settings), owned)
    stopping.signal.throwIfAborted()
    const control = startControl(
      {
        runtimeLog,
        ...context.createChildren(plan, listen),
        signals: context.signals,
        environment: sources.environment,
        writeError: context.writeError,
        onServing: address => announce(address, { plan, owned, context }),
        metrics: owned.metrics?.metrics,
        createLimits: await loadLimits(plan),
        socketPaths
      },
      {
        plan,
        keys,
        version: context.version,
        listen,
        restartPolicy: createRestartPolicy(plan.settings.workers),
        healthPolicy: DEFAULT_HEALTH_POLICY,
        fingerprintKey: createFingerprintKey(plan.settings),
        compactionKey: writeCompactionKey(deriveCompactionKey(plan.settings)),
        isQuiet: sources.options.isDemo
      }
    )
    stop = control.stop
    return await control.ended
  } catch (error) {
    return explainFailure(error, { owned, context, isStopping: stopping.signal.aborted })
  } finally {
    owned.sockets?.remove()
    await owned.metrics?.close()
    await owned.reservation?.release()
    await owned.demo?.close()
    owned.demoStorage?.remove()
    await owned.runtimeLog?.drained()
  }
}

/** What counts the limits of keys; undefined without a keys file. */
async function loadLimits({ keys }: RuntimePlan) {
  if (keys === undefined) return undefined
  const { createLimitsService } = await import('./limits/limits-service.ts')
  return createLimitsService
}

/** Where each of these services listens. */
function openSockets(services: readonly ServiceName[], owned: Owned): Partial<Record<ServiceName, string>> {
  if (services.length === 0) return {}
  try {
    const sockets = createPrivateSockets(process.platform)
    owned.sockets = sockets
    return Object.fromEntries(services.map(name => [name, sockets.path(name)]))
  } catch (error) {
    const explanation = 'the folder for temporary files (TMPDIR) must be one that can be written'
    throw new StartFailure('temporary_folder_unusable', explanation, error)
  }
}

/** An unexpected error: one line instead of a trace, which may hold secrets. Workers and upstream exit with this process. */
function crash(thrown: unknown, owned: Owned, context: GatewayContext): never {
  const { runtimeLog } = owned
  runtimeLog?.log.fatal({ event: 'supervisor_crashed', err: thrown }, 'The supervisor exits after an unexpected error')
  context.writeError(`internal: ${nameUnexpected(thrown)}${runtimeLog === undefined ? '' : '; the log says more'}`)
  owned.demoStorage?.remove()
  return context.exit(EXIT_CODES.startupFailed)
}

async function preparePlan(
  sources: PlanSources,
  { owned, stdout, signal }: { owned: Owned; stdout: LogOutput; signal: AbortSignal }
): Promise<RuntimePlan> {
  const plan = planRuntime(sources)
  if (!sources.options.isDemo) return plan
  owned.demo = await startDemoUpstream(chooseDemoPort(plan.profiles), signal).catch(error => {
    throw new StartFailure('demo_upstream_failed', 'the embedded upstream did not start', error)
  })
  owned.demoStorage = createDemoStorage(plan.givenSettings)
  const isTerminal = stdout.isTTY === true
  const variables = {
    ...(plan.settings.upstream.model === undefined && { UPSTREAM_MODEL: 'GigaChat-2-Max' }),
    // A terminal is read by people, a file or a pipe by programs.
    ...(isTerminal && !plan.givenSettings.has('GATEWAY_LOG_FORMAT') && { GATEWAY_LOG_FORMAT: 'text' }),
    ...owned.demoStorage.variables,
    ...owned.demo.variables
  }
  return planRuntime({ ...sources, demo: { variables, plan } })
}

function openLog(
  { settings, credentials }: RuntimePlan,
  { isDemo }: PlanSources['options'],
  stdout: LogOutput
): RuntimeLog {
  const knownSecrets = [...listSecretTexts(settings), ...Object.values(credentials).map(secret => secret.reveal())]
  try {
    return createRuntimeLog({ settings, knownSecrets, isQuiet: isDemo, stdout })
  } catch (error) {
    throw new StartFailure('log_file_unusable', 'GATEWAY_LOG_FILENAME must name a file that can be written', error)
  }
}

function describeStart(log: Logger, plan: RuntimePlan, version: string): void {
  const { settings, revisions } = plan
  log.info(
    { event: 'starting', version, workers: settings.workers, revisions },
    `Starting llm-gateway version ${version}`
  )
  const effective: JsonObject = describeEffectiveSettings(settings)
  log.info({ event: 'effective_settings', settings: effective }, 'Effective settings')
  const posture = JSON.stringify(describeSecurityPosture(settings))
  log.info({ event: 'security_posture' }, `Security posture: ${posture}`)
  if (plan.keys !== undefined) log.info({ event: 'keys_loaded', ...describeKeys(plan.keys) }, 'The keys file was read')
  for (const warning of plan.warnings) log.warn({ event: 'configuration_warning' }, warning)
  if (plan.profiles.origin === 'file') return
  const missing = warnOfMissingCredentials(settings, plan.givenSettings)
  if (missing !== undefined) log.warn({ event: 'configuration_warning' }, missing)
}

function watchDemo(owned: Owned, log: Logger): void {
  owned.demo?.onLost(() =>
    log.error({ event: 'demo_upstream_lost' }, 'The embedded upstream exited; requests will fail')
  )
}

async function prepareListening(plan: RuntimePlan, owned: Owned, log: Logger): Promise<ListenOptions> {
  const { host, port } = plan.settings
  const reusePort = canSharePort(process.platform, process.versions.node)
  owned.reservation = await reservePort({ host, port, reusePort }).catch(error => {
    throw toListenFailure(error, { host, port })
  })
  log.info({ event: 'port_reserved', host, port: owned.reservation.port, reuse_port: reusePort }, 'Port is free')
  return { host, port: owned.reservation.port, reusePort, ...(plan.tls !== undefined && { tls: plan.tls }) }
}

function announce(
  address: { host: string; port: number },
  { plan, owned, context }: { plan: RuntimePlan; owned: Owned; context: GatewayContext }
): void {
  void owned.reservation?.release()
  const isTls = plan.tls !== undefined
  owned.runtimeLog?.log.info({ event: 'listening', ...address, tls: isTls }, 'Listening')
  context.reportListening(writeBaseUrl(address, isTls))
  if (owned.demo === undefined) return
  context.stdout.write(
    writeDemoBanner({
      address,
      isTls,
      isAuthRequired: isAuthRequired(plan.settings),
      model: chooseDemoModel(plan),
      controlUrl: owned.demo.controlUrl,
      dashboard: plan.settings.adminApiEnabled ? { adminKey: owned.demoStorage?.adminKey } : undefined,
      logFile: plan.settings.logFilename
    })
  )
}

/** A model that the examples can name: of a profile file, one of its own. */
function chooseDemoModel({ profiles, settings }: RuntimePlan): string {
  const aliases = profiles.origin === 'file' ? profiles.profiles.flatMap(profile => profile.models) : []
  return aliases.find(alias => alias.enabled)?.publicAlias ?? settings.upstream.model ?? ''
}

/** 32 bytes, derived from the setting where it is set, so that fingerprints are equal after a restart and on other hosts. */
function createFingerprintKey(settings: Settings): string {
  const { fingerprintKey } = settings
  const key =
    fingerprintKey === undefined ? randomBytes(32) : createHash('sha256').update(fingerprintKey.reveal()).digest()
  return key.toString('base64')
}

function explainFailure(
  error: unknown,
  { owned, context, isStopping }: { owned: Owned; context: GatewayContext; isStopping: boolean }
): ExitCode {
  if (StartupError.is(error)) {
    // A flag that these settings do not allow is a wrong use of the command line (bridge.md 1.4).
    if (error.details.some(({ reasonId }) => reasonId === 'demo_refused')) context.writeUsage()
    context.writeError(error.summary)
    return exitCodeBeforeStart({ kind: 'start-refused' })
  }
  // The stop was requested, so the error of the step that it interrupted does not count.
  if (isStopping) return exitCodeBeforeStart({ kind: 'stop-signal' })
  const failure = toStartFailure(error)
  const { reason, message, cause } = failure
  owned.runtimeLog?.log.error({ event: 'startup_failed', reason, err: cause }, `Startup failed: ${message}`)
  context.writeError(failure.summary)
  return exitCodeBeforeStart({ kind: 'startup-failed', exitCode: EXIT_CODES.startupFailed })
}
