// Reads the query of `GET /bridge/capabilities` (bridge.md 5.6).

import { type PublicProtocol, publicProtocols } from '../../../shared/support/support-vocabulary.ts'
import { GatewayError } from '../../normalized/index.ts'
import type { ApiMode } from '../../protocols/provider-face.ts'

export interface CapabilityQuery {
  readonly model: string
  readonly publicProtocol: PublicProtocol
  readonly apiMode: ApiMode
}

type QueryValues = Readonly<Record<string, string | string[] | undefined>>

const PARAMETERS = ['model', 'protocol', 'api_mode']

/**
 * The query for one model; undefined where it names none of the three parameters, which asks for the support matrix. Raises
 * `invalid_request` with a reason for a query that is incomplete or names something unknown; a repeated parameter is unknown.
 * @param options.defaultApiMode the mode of unprefixed routes.
 */
export function readCapabilityQuery(
  query: QueryValues,
  { defaultApiMode }: { defaultApiMode: ApiMode }
): CapabilityQuery | undefined {
  if (PARAMETERS.every(name => query[name] === undefined)) return undefined
  const { model, protocol, api_mode: apiMode = defaultApiMode } = query
  if (typeof model !== 'string' || model === '' || protocol === undefined || protocol === '') {
    throw invalid('incomplete_capability_query', "The capability query needs one 'model' and one 'protocol'.")
  }
  const publicProtocol = publicProtocols.find(known => known === protocol)
  if (publicProtocol === undefined) throw invalid('unknown_public_protocol', 'The public protocol is unknown.')
  if (apiMode !== 'v1' && apiMode !== 'v2') throw invalid('unknown_api_mode', 'The API mode is unknown.')
  return { model, publicProtocol, apiMode }
}

function invalid(reason: string, message: string): GatewayError {
  return new GatewayError('invalid_request', { reason, message })
}
