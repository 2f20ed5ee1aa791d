// Which hosts and origins a request may name (decisions.md 101). A browser sends requests of any page to this machine, and a name of an
// attacker's site may lead here; while no key protects the gateway and only this machine reaches it, such requests are refused.
import { isLoopbackBinding } from '../../shared/net/listen-addresses.ts'
import { createHostTest, isOriginOf } from '../../shared/net/local-hosts.ts'
import { isAuthRequired, type Settings } from '../../shared/settings.ts'
import { GatewayError } from '../normalized/index.ts'
import { readTarget } from './request/path-repair.ts'
import type { CorsPolicy } from './response/cors.ts'
import type { Stage } from './stages.ts'
import { wantsWebSocket } from './upgrade.ts'

export interface LocalAccess {
  /** Refuses hosts that are none of this machine with 421; undefined where any host passes. */
  readonly guardHosts: Stage | undefined
  /** Refuses foreign origins with 403: of all requests, or of those that begin a WebSocket. */
  readonly guardOrigins: Stage
}

type AccessSettings = Pick<Settings, 'mode' | 'enableApiKeyAuth' | 'keysFile' | 'host' | 'port' | 'allowedHosts'>

/** The rules of the settings. With authentication, and where other machines connect, a proxy in front may pass any host. */
export async function createLocalAccess(
  settings: AccessSettings,
  { isOriginAllowed }: Pick<CorsPolicy, 'isOriginAllowed'>
): Promise<LocalAccess> {
  const isLocalOnly = !isAuthRequired(settings) && (await isLoopbackBinding(settings.host))
  return {
    guardHosts: isLocalOnly ? refuseForeignHosts(createHostTest(settings)) : undefined,
    guardOrigins({ raw }) {
      const { origin, host = '' } = raw.headers
      // Programs other than browsers send none.
      if (origin === undefined || isOriginAllowed(origin)) return
      // A page of this gateway itself: the host was checked, or a key is.
      if (isOriginOf(host, origin)) return
      if (isLocalOnly || wantsWebSocket(raw)) throw new GatewayError('origin_not_allowed')
    }
  }
}

function refuseForeignHosts(isOwnHost: (header: string) => boolean): Stage {
  return ({ raw }) => {
    // No browser leaves it out or empty; clients of HTTP 1.0 may.
    const { host = '' } = raw.headers
    if (host !== '' && !isOwnHost(host)) throw new GatewayError('host_not_allowed')
    // A client of a forward proxy names the host in the target as well (RFC 9112, 3.2.2).
    const target = readTarget(raw)
    if (target.startsWith('/')) return
    const named = TARGET_HOST.exec(target)?.[1]
    if (named !== undefined && !isOwnHost(named)) throw new GatewayError('host_not_allowed')
  }
}

const TARGET_HOST = /^https?:\/\/([^/?#]*)/i
