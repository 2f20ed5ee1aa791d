// The machine documents of the universal bridge, for supervisors that plan routes (bridge.md 5.4 to
// 5.7).

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  createBridgeModelsDocument,
  createEffectiveCapabilitiesDocument,
  createSupportMatrixDocument
} from '../../shared/bridge-documents.ts'
import { type CatalogSnapshot, isInventoryFresh, isListed } from '../../shared/catalog.ts'
import { createReadinessDocument } from '../../shared/documents.ts'
import { listDiscoveredProfiles } from '../../shared/profile-routes.ts'
import type { ProviderHealth } from '../../shared/provider-health.ts'
import { supportMatrix } from '../../shared/support-matrix.ts'
import { type CapabilityQuery, readCapabilityQuery } from '../bridge/capabilities/capability-query.ts'
import {
  describeCapabilityRoute,
  findModelRoute,
  type ModelRoute,
  modelNotFound
} from '../bridge/capabilities/capability-route.ts'
import { decideCapabilities } from '../bridge/capabilities/effective-capabilities.ts'
import type { RequestContext } from '../http/request-context.ts'
import { sendJson } from '../http/respond.ts'
import { systemTraits } from '../http/route-traits.ts'
import { GatewayError } from '../normalized/index.ts'
import { providerCapabilities } from '../protocols/registry.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

/** The parts of a worker that these documents report. */
export type BridgeFacts = Pick<
  WorkerRuntime,
  'catalog' | 'control' | 'drainGate' | 'profiles' | 'readReadiness' | 'revisions' | 'routes' | 'settings'
>

/** Mounts `/bridge/models` and `/bridge/capabilities`. Both need no key; while the gateway drains they are refused. */
export function registerBridgeRoutes(app: FastifyInstance, facts: BridgeFacts): void {
  const { catalog, control, drainGate, profiles, readReadiness, revisions, routes, settings } = facts
  const discovered = listDiscoveredProfiles(profiles)
  const writeModels = createModelsWriter((snapshot, healths) =>
    JSON.stringify(createBridgeModelsDocument(snapshot, revisions, { profiles, healths }))
  )
  const matrix = JSON.stringify(createSupportMatrixDocument(supportMatrix, revisions))

  function mount(path: string, write: (context: RequestContext) => string | Promise<string>): void {
    const handler = async ({ context }: FastifyRequest, reply: FastifyReply) => {
      if (drainGate.isDraining) throw new GatewayError('gateway_not_ready', { reason: 'gateway_shutting_down' })
      sendJson(reply, 200, {}, await write(context))
    }
    app.route({ method: ['GET', 'HEAD'], url: path, config: { traits: systemTraits(path) }, handler })
  }

  /** The catalog, or `gateway_not_ready` where there is none: the cause stays in the log. */
  async function readCatalog(context: RequestContext, reason: string): Promise<CatalogSnapshot> {
    try {
      return await catalog.read(context, { force: false })
    } catch (cause) {
      throw new GatewayError('gateway_not_ready', { reason, cause })
    }
  }

  /**
   * The inventory that the model belongs to: that of the catalog for a profile that is asked for its models, else the profiles themselves.
   * Raises `unknown_model_alias` for a model without an alias that the catalog does not have. A model behind a prefix that no fresh
   * inventory lacks has the capabilities of its requests, which are sent (providers.md 3).
   */
  async function findInventoryRevision(context: RequestContext, model: string, route: ModelRoute): Promise<string> {
    const { profile, alias, prefixedModel } = route
    if (!discovered.includes(profile)) return revisions.config
    const snapshot = await readCatalog(context, 'effective_capabilities_unavailable')
    const mayBeUnlisted = prefixedModel !== undefined && !isInventoryFresh(snapshot, profile.profileId, Date.now())
    if (alias === undefined && !mayBeUnlisted && !isListed(snapshot, model)) throw modelNotFound()
    return snapshot.inventoryRevision
  }

  async function writeCapabilities(context: RequestContext, query: CapabilityQuery): Promise<string> {
    const { model, publicProtocol, apiMode } = query
    const modelRoute = findModelRoute(profiles, model)
    const inventoryRevision = await findInventoryRevision(context, model, modelRoute)
    const route = describeCapabilityRoute(query, modelRoute, { profiles, routes, capabilities: providerCapabilities })
    const { providerKind, profileId } = modelRoute.profile
    const effective = decideCapabilities(route, { publicModel: model, providerKind })
    const document = createEffectiveCapabilitiesDocument(
      { model, providerKind, providerProfileId: profileId, publicProtocol, apiMode, inventoryRevision, ...effective },
      revisions
    )
    return JSON.stringify(document)
  }

  mount('/bridge/models', async context =>
    writeModels(await readCatalog(context, 'model_catalog_unavailable'), control.providerHealth())
  )
  mount('/bridge/capabilities', context => {
    const query = readCapabilityQuery(context.query, { defaultApiMode: settings.upstreamApiMode })
    if (query !== undefined) return writeCapabilities(context, query)
    // A supervisor plans routes by the matrix, and a gateway that is not ready has none yet.
    const [reason] = createReadinessDocument(readReadiness()).reasons
    if (reason !== undefined) throw new GatewayError('gateway_not_ready', { reason: reason.reason_id })
    return matrix
  })
}

type WriteModels = (snapshot: CatalogSnapshot, healths: readonly ProviderHealth[]) => string

/** Writes the text once: the same one is shown until the next discovery, or until more is known of a provider. */
function createModelsWriter(write: WriteModels): WriteModels {
  let written: { snapshot: CatalogSnapshot; healths: readonly ProviderHealth[]; text: string } | undefined
  return (snapshot, healths) => {
    if (written?.snapshot !== snapshot || written.healths !== healths) {
      written = { snapshot, healths, text: write(snapshot, healths) }
    }
    return written.text
  }
}
