// The native upstream, where settings describe it.
import { isLoopbackDestination } from '../../shared/net/destination.ts'
import { isHeaderValue } from '../../shared/net/header-value.ts'
import type { Settings } from '../../shared/settings.ts'
import { Findings, type StartupContext } from './findings.ts'

export function checkUpstream(
  { upstream }: Settings,
  findings: Findings,
  { variables, isDemo, isNativeMode }: StartupContext
): void {
  if (!isNativeMode) return
  const usesPassword = upstream.user !== undefined && upstream.password !== undefined
  if (usesPassword && variables.UPSTREAM_BASE_URL === undefined && !isDemo) {
    const setting = 'UPSTREAM_BASE_URL'
    const explanation = `${setting} must be set when UPSTREAM_USER and UPSTREAM_PASSWORD are used`
    findings.refuseAs('upstream_base_url_required', setting, explanation)
  }
  if (!usesPassword && (upstream.user !== undefined || upstream.password !== undefined)) {
    findings.warn('UPSTREAM_USER and UPSTREAM_PASSWORD work only together; the one that is set is not used.')
  }
  for (const [setting, secret] of [
    ['UPSTREAM_CREDENTIALS', upstream.credentials],
    ['UPSTREAM_ACCESS_TOKEN', upstream.accessToken]
  ] as const) {
    if (secret === undefined || isHeaderValue(secret.reveal())) continue
    findings.refuse(setting, 'must have no character that a header cannot carry, such as a line break')
  }
  // Only a warning, because the upstream decides which credentials it accepts (upstream.md 1.2).
  if (upstream.credentials !== undefined && !isBase64(upstream.credentials.reveal())) {
    findings.warn('UPSTREAM_CREDENTIALS is no base64 text; the token server will hardly accept it.')
  }
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)
}

export function checkKeyFile({ upstream }: Settings, findings: Findings): void {
  if (upstream.keyFile !== undefined && upstream.certFile === undefined) {
    findings.warn('UPSTREAM_KEY_FILE is not used without UPSTREAM_CERT_FILE.')
  }
}

/**
 * Refuses, in PROD, native upstreams whose certificates are not verified: any server could take the place of one and receive prompts and
 * credentials. `urls` are those of the upstreams and of the token server, where one is used.
 */
export function checkNativeDestinations(settings: Settings, urls: readonly string[]): Findings {
  const findings = new Findings()
  // A bundle of authorities switches verification on.
  const isVerified = settings.upstream.verifySslCerts || settings.upstream.caBundleFile !== undefined
  if (settings.mode === 'PROD' && !isVerified && !urls.every(isLoopbackDestination)) {
    const what = 'must not be off in PROD unless the upstream is on loopback'
    findings.refuseInProduction(settings, 'UPSTREAM_VERIFY_SSL_CERTS', what)
  }
  return findings
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
