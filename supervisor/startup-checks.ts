// Refuses unsafe combinations of settings and collects warnings, before anything is opened
// (operations.md 5).

import { accessSync, constants, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isLoopbackDestination } from '../shared/destination.ts'
import { isFixedPath } from '../shared/fixed-paths.ts'
import { isHeaderValue } from '../shared/header-value.ts'
import { readRedisUrl } from '../shared/limits/redis-url.ts'
import { readStoreDsn, readStoreKey } from '../shared/memory/dsn.ts'
import type { MemoryPlan } from '../shared/memory-plan.ts'
import type { Secret } from '../shared/secret.ts'
import { listServices, planGatewayMemory } from '../shared/services.ts'
import { isAuthRequired, type Settings, type Variables } from '../shared/settings.ts'
import type { StartupErrorDetail } from '../shared/startup-error.ts'
import { planSinks } from '../shared/traffic/sinks.ts'

export interface StartupFindings {
  /** What stops the start. */
  readonly refusals: readonly StartupErrorDetail[]
  readonly warnings: readonly string[]
}

const SHORT_KEY_LENGTH = 16

export interface StartupContext {
  /** What was given explicitly. */
  readonly variables: Variables
  /** The embedded upstream was requested. */
  readonly isDemo: boolean
  /** No profile file was chosen, so the settings describe the upstream. */
  readonly isNativeMode: boolean
}

/** Checks parsed settings, before a profile file is read. */
export function checkStartup(settings: Settings, options: StartupContext): StartupFindings {
  const refusals: StartupErrorDetail[] = []
  const warnings: string[] = []
  checkAccess(settings, refusals)
  checkKeySpaces(settings, refusals)
  checkMetricsPort(settings, refusals, warnings)
  checkMetricsPath(settings, refusals)
  checkLogFile(settings, refusals)
  checkSinks(settings, refusals)
  checkStore(settings, refusals, warnings)
  checkSharedLimits(settings, refusals, warnings)
  warnOfMemory(settings, warnings)
  if (options.isNativeMode) checkUpstream(settings, options, refusals, warnings)
  warnOfUnusedKeyFile(settings, warnings)
  if (options.isDemo) checkDemo(settings, refusals)
  if (settings.mode === 'PROD') checkProduction(settings, refusals, warnings)
  checkAdminKey(settings, refusals)
  return { refusals, warnings }
}

function checkAccess(settings: Settings, refusals: StartupErrorDetail[]): void {
  // The file has at least one key (keys.md 1).
  if (!isAuthRequired(settings) || settings.keysFile !== undefined) return
  if ([settings.apiKey, ...Object.values(settings.apiKeys)].some(isKey)) return
  refusals.push({
    reasonId: 'api_key_required',
    setting: 'GATEWAY_API_KEY',
    explanation:
      'GATEWAY_API_KEY must be set when authentication is on or the mode is PROD, or GATEWAY_API_KEYS or GATEWAY_KEYS_FILE'
  })
}

/** The keys of clients are compared without the white space around them, so that no client could present a key of nothing else. */
function isKey(key: Secret | undefined): boolean {
  return key !== undefined && key.reveal().trim() !== ''
}

/** For the same reason a key with white space around it would match none. */
function checkKeySpaces({ apiKey, apiKeys, adminApiKey }: Settings, refusals: StartupErrorDetail[]): void {
  const keys = [
    ['GATEWAY_API_KEY', apiKey],
    ...Object.values(apiKeys).map(key => ['GATEWAY_API_KEYS', key] as const),
    ['GATEWAY_ADMIN_API_KEY', adminApiKey]
  ] as const
  for (const [setting, key] of keys) {
    const text = key?.reveal() ?? ''
    if (!isKey(key) || text.trim() === text) continue
    const explanation = `${setting} must have no white space around a key, such as a line break at its end`
    refusals.push({ reasonId: 'invalid_settings', setting, explanation })
  }
}

function checkMetricsPort(
  { metricsPort, metricsEnabled, port }: Settings,
  refusals: StartupErrorDetail[],
  warnings: string[]
): void {
  const setting = 'GATEWAY_METRICS_PORT'
  if (metricsPort === undefined) return
  if (!metricsEnabled) warnings.push(`${setting} has no effect while GATEWAY_METRICS_ENABLED is off.`)
  else if (metricsPort === port && port !== 0) {
    refusals.push({
      reasonId: 'invalid_settings',
      setting,
      explanation: `${setting} must be another port than GATEWAY_PORT`
    })
  }
}

function checkMetricsPath(
  { metricsEnabled, metricsPort, metricsPath }: Settings,
  refusals: StartupErrorDetail[]
): void {
  // A listener of their own has no other paths.
  if (!metricsEnabled || metricsPort !== undefined || !isFixedPath(metricsPath)) return
  refusals.push({
    reasonId: 'invalid_settings',
    setting: 'GATEWAY_METRICS_PATH',
    explanation: 'GATEWAY_METRICS_PATH is the path of another route'
  })
}

function checkSinks(settings: Settings, refusals: StartupErrorDetail[]): void {
  for (const { setting, message } of planSinks(settings).issues) {
    refusals.push({ reasonId: 'invalid_settings', setting, explanation: `${setting} ${message}` })
  }
}

/** What the store of responses needs, as far as it can be seen without a database (memory.md 1). */
function checkStore(settings: Settings, refusals: StartupErrorDetail[], warnings: string[]): void {
  const { responsesStoreDsn, responsesStoreKey, responsesStoreKeyPrevious } = settings
  const refuse = (setting: string, what: string) =>
    refusals.push({ reasonId: 'invalid_settings', setting, explanation: `${setting} ${what}` })
  const keys = [
    ['GATEWAY_RESPONSES_STORE_KEY', responsesStoreKey],
    ['GATEWAY_RESPONSES_STORE_KEY_PREVIOUS', responsesStoreKeyPrevious]
  ] as const
  for (const [setting, key] of keys) {
    if (key === undefined) continue
    if (readStoreKey(key.reveal()) === undefined) refuse(setting, 'must be 32 bytes in base64')
    if (responsesStoreDsn === undefined) {
      warnings.push(`${setting} has no effect while GATEWAY_RESPONSES_STORE_DSN is unset.`)
    }
  }
  if (responsesStoreDsn === undefined) return
  const setting = 'GATEWAY_RESPONSES_STORE_DSN'
  const dsn = readStoreDsn(responsesStoreDsn.reveal())
  if (dsn === undefined) refuse(setting, 'must be sqlite:<path>, or an address that begins with postgres://')
  else if (dsn.kind === 'sqlite' && !canCreate(dsn.location)) refuse(setting, 'must name a file that can be written')
  const { responsesStoreMaxBytes: one, responsesStoreMaxBytesPerKey: all } = settings
  if (all > 0 && all < one) {
    warnings.push('GATEWAY_RESPONSES_STORE_MAX_BYTES_PER_KEY is below the size of one response and bounds it as well.')
  }
}

/** The form alone: the server is asked for nothing before the start (keys.md 3). */
function checkSharedLimits(
  { limitsRedisUrl, keysFile }: Settings,
  refusals: StartupErrorDetail[],
  warnings: string[]
): void {
  const setting = 'GATEWAY_LIMITS_REDIS_URL'
  if (limitsRedisUrl === undefined) return
  if (keysFile === undefined) warnings.push(`${setting} has no effect while GATEWAY_KEYS_FILE is unset.`)
  if (readRedisUrl(limitsRedisUrl.reveal()) !== undefined) return
  const explanation = `${setting} must be redis://[user:password@]host[:port][/database], or the same with rediss://`
  refusals.push({ reasonId: 'invalid_settings', setting, explanation })
}

/** Says what the memory limit of the container leaves no room for (decisions.md 99). */
export function warnOfMemory(
  settings: Settings,
  warnings: string[],
  plan: MemoryPlan | undefined = planGatewayMemory(settings)
): void {
  if (plan === undefined) return
  const { workers, maxRequestBodyBytes } = settings
  if (!plan.fits) {
    const services = listServices(settings).length
    warnings.push(
      `The memory limit is too small for ${workers} workers and ${services} further processes: give the container more memory, or fewer GATEWAY_WORKERS.`
    )
  }
  if (maxRequestBodyBytes <= plan.bodyBytesMax) return
  warnings.push(
    `Bodies above ${plan.bodyBytesMax} bytes are refused with 503 under the memory limit, although GATEWAY_MAX_REQUEST_BODY_BYTES accepts ${maxRequestBodyBytes}.`
  )
}

function checkLogFile({ logFilename }: Settings, refusals: StartupErrorDetail[]): void {
  if (canAppendTo(logFilename)) return
  refusals.push({
    reasonId: 'invalid_settings',
    setting: 'GATEWAY_LOG_FILENAME',
    explanation: 'GATEWAY_LOG_FILENAME must name a file that can be written'
  })
}

/** Checks permissions only, so that a preflight creates no file. */
function canAppendTo(file: string): boolean {
  try {
    const status = statSync(file, { throwIfNoEntry: false })
    if (status === undefined) accessSync(dirname(file), constants.W_OK | constants.X_OK)
    else accessSync(file, constants.W_OK)
    return status?.isDirectory() !== true
  } catch {
    return false
  }
}

/** As `canAppendTo`, for a file whose folders are made at the start. */
function canCreate(file: string): boolean {
  let folder = resolve(dirname(file))
  while (statSync(folder, { throwIfNoEntry: false }) === undefined && dirname(folder) !== folder)
    folder = dirname(folder)
  return folder === resolve(dirname(file)) ? canAppendTo(file) : canAppendTo(join(folder, 'folder'))
}

function checkUpstream(
  { upstream }: Settings,
  { variables, isDemo }: StartupContext,
  refusals: StartupErrorDetail[],
  warnings: string[]
): void {
  const usesPassword = upstream.user !== undefined && upstream.password !== undefined
  if (usesPassword && variables.UPSTREAM_BASE_URL === undefined && !isDemo) {
    refusals.push({
      reasonId: 'upstream_base_url_required',
      setting: 'UPSTREAM_BASE_URL',
      explanation: 'UPSTREAM_BASE_URL must be set when UPSTREAM_USER and UPSTREAM_PASSWORD are used'
    })
  }
  if (!usesPassword && (upstream.user !== undefined || upstream.password !== undefined)) {
    warnings.push('UPSTREAM_USER and UPSTREAM_PASSWORD work only together; the one that is set is not used.')
  }
  for (const [setting, secret] of [
    ['UPSTREAM_CREDENTIALS', upstream.credentials],
    ['UPSTREAM_ACCESS_TOKEN', upstream.accessToken]
  ] as const) {
    if (secret === undefined || isHeaderValue(secret.reveal())) continue
    refusals.push({
      reasonId: 'invalid_settings',
      setting,
      explanation: `${setting} must have no character that a header cannot carry, such as a line break`
    })
  }
  // Only a warning, because the upstream decides which credentials it accepts (upstream.md 1.2).
  if (upstream.credentials !== undefined && !isBase64(upstream.credentials.reveal())) {
    warnings.push('UPSTREAM_CREDENTIALS is no base64 text; the token server will hardly accept it.')
  }
}

/**
 * The warning for a start without any credentials of the native upstream at its default address; undefined where none is needed. Not for
 * a preflight: the program that runs it may add the credentials later. Clients would see the upstream's 401 as a wrong gateway key.
 */
export function warnOfMissingCredentials(
  { passToken, upstream }: Settings,
  given: ReadonlySet<string>
): string | undefined {
  const { accessToken, certFile, credentials } = upstream
  const isSet = [accessToken, certFile, credentials].some(value => value !== undefined)
  // Upstreams at other addresses may do without, and a user with a password needs another address.
  if (isSet || passToken || given.has('UPSTREAM_BASE_URL')) return undefined
  return 'No credentials of the upstream are set (UPSTREAM_CREDENTIALS); it will refuse every call with 401.'
}

function warnOfUnusedKeyFile({ upstream }: Settings, warnings: string[]): void {
  if (upstream.keyFile !== undefined && upstream.certFile === undefined) {
    warnings.push('UPSTREAM_KEY_FILE is not used without UPSTREAM_CERT_FILE.')
  }
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)
}

function checkDemo(settings: Settings, refusals: StartupErrorDetail[]): void {
  const refuse = (setting: string, explanation: string) =>
    refusals.push({ reasonId: 'demo_refused', setting, explanation })
  if (settings.mode === 'PROD') refuse('GATEWAY_MODE', '--demo does not start when GATEWAY_MODE is PROD')
  const { credentials, accessToken, user, password } = settings.upstream
  const credentialSettings = [
    ['UPSTREAM_CREDENTIALS', credentials],
    ['UPSTREAM_ACCESS_TOKEN', accessToken],
    ['UPSTREAM_USER', user],
    ['UPSTREAM_PASSWORD', password]
  ] as const
  for (const [setting, value] of credentialSettings) {
    if (value !== undefined) refuse(setting, `--demo does not start when ${setting} is set`)
  }
}

function checkProduction(settings: Settings, refusals: StartupErrorDetail[], warnings: string[]): void {
  const refuseUnlessAllowed = refuseInProduction(settings, { refusals, warnings })
  if (!settings.logRedactSensitive) {
    refuseUnlessAllowed('GATEWAY_LOG_REDACT_SENSITIVE', 'GATEWAY_LOG_REDACT_SENSITIVE must not be off in PROD')
  }
  if ((settings.adminApiEnabled || settings.debugTranslateEnabled) && !isKey(settings.adminApiKey)) {
    refuseUnlessAllowed(
      'GATEWAY_ADMIN_API_KEY',
      'GATEWAY_ADMIN_API_KEY must be set in PROD when admin or debug routes are on'
    )
  }
  if (settings.logLevel === 'DEBUG') {
    warnings.push('GATEWAY_LOG_LEVEL is DEBUG in PROD; payloads are left out of the log.')
  }
  if (settings.corsAllowOrigins.includes('*')) {
    warnings.push('GATEWAY_CORS_ALLOW_ORIGINS holds "*", which PROD does not allow; it is dropped.')
  }
  warnOfShortKey('GATEWAY_API_KEY', settings.apiKey, warnings)
  warnOfShortKey('GATEWAY_ADMIN_API_KEY', settings.adminApiKey, warnings)
  for (const key of Object.values(settings.apiKeys)) warnOfShortKey('GATEWAY_API_KEYS', key, warnings)
}

/**
 * Refuses, in PROD, native upstreams whose certificates are not verified: any server could take the place of one and receive prompts and
 * credentials. `urls` are those of the upstreams and of the token server, where one is used.
 */
export function checkNativeDestinations(settings: Settings, urls: readonly string[]): StartupFindings {
  const refusals: StartupErrorDetail[] = []
  const warnings: string[] = []
  // A bundle of authorities switches verification on.
  const isVerified = settings.upstream.verifySslCerts || settings.upstream.caBundleFile !== undefined
  if (settings.mode === 'PROD' && !isVerified && !urls.every(isLoopbackDestination)) {
    refuseInProduction(settings, { refusals, warnings })(
      'UPSTREAM_VERIFY_SSL_CERTS',
      'UPSTREAM_VERIFY_SSL_CERTS must not be off in PROD unless the upstream is on loopback'
    )
  }
  return { refusals, warnings }
}

/** Returns a function that refuses a setting, or only warns where the operator allows insecure production. */
function refuseInProduction(
  { allowInsecureProd }: Settings,
  { refusals, warnings }: { refusals: StartupErrorDetail[]; warnings: string[] }
): (setting: string, explanation: string) => void {
  return (setting, explanation) => {
    if (allowInsecureProd) warnings.push(`${explanation}.`)
    else refusals.push({ reasonId: 'insecure_prod_refused', setting, explanation })
  }
}

function warnOfShortKey(setting: string, key: Secret | undefined, warnings: string[]): void {
  if (key === undefined || key.reveal().length >= SHORT_KEY_LENGTH) return
  const warning = `${setting} holds a key of less than ${SHORT_KEY_LENGTH} characters, which is easy to guess.`
  if (!warnings.includes(warning)) warnings.push(warning)
}

/** Every client that has such a key would be an admin. The keys of a keys file are compared when it is read (keys.md 1). */
function checkAdminKey({ adminApiKey, apiKey, apiKeys }: Settings, refusals: StartupErrorDetail[]): void {
  if (adminApiKey === undefined || !isKey(adminApiKey)) return
  const clientKeys = [apiKey, ...Object.values(apiKeys)].map(key => key?.reveal())
  if (!clientKeys.includes(adminApiKey.reveal())) return
  const setting = 'GATEWAY_ADMIN_API_KEY'
  refusals.push({
    reasonId: 'invalid_settings',
    setting,
    explanation: `${setting} must differ from the API keys of clients`
  })
}
