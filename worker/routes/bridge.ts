// The machine documents of the universal bridge, for supervisors that plan routes (bridge.md 5.4 to
// 5.7).

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type CatalogSnapshot, isInventoryFresh, isListed } from '../../shared/catalog/catalog.ts'
import {
  createBridgeModelsDocument,
  createEffectiveCapabilitiesDocument,
  createSupportMatrixDocument,
  type FindTargets
} from '../../shared/documents/bridge-documents.ts'
import { createReadinessDocument } from '../../shared/documents/documents.ts'
import { describeTargets, type ReadTargetState } from '../../shared/documents/target-entries.ts'
import { isInScope, type ModelScope } from '../../shared/keys/model-scope.ts'
import type { ProfileSet } from '../../shared/profile/profile.ts'
import { listDiscoveredProfiles } from '../../shared/profile/profile-routes.ts'
import type { ProviderHealth } from '../../shared/provider-health.ts'
import { supportMatrix } from '../../shared/support/support-matrix.ts'
import { type CapabilityQuery, readCapabilityQuery } from '../bridge/capabilities/capability-query.ts'
import {
  describeCapabilityRoute,
  findModelRoute,
  type ModelRoute,
  modelNotFound
} from '../bridge/capabilities/capability-route.ts'
import { decideCapabilities } from '../bridge/capabilities/effective-capabilities.ts'
import { systemTraits } from '../http/request/route-traits.ts'
import type { RequestContext } from '../http/request-context.ts'
import { sendJson } from '../http/respond.ts'
import { GatewayError } from '../normalized/index.ts'
import { providerCapabilities } from '../protocols/registry.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

/** The parts of a worker that these documents report. */
export type BridgeFacts = Pick<
  WorkerRuntime,
  'catalog' | 'control' | 'drainGate' | 'profiles' | 'readReadiness' | 'revisions' | 'routes' | 'settings' | 'targets'
>

/**
 * Mounts `/bridge/models` and `/bridge/capabilities`. Both need a key only while a keys file is in force, and show its models then
 * (keys.md 2); while the gateway drains they are refused.
 */
export function registerBridgeRoutes(app: FastifyInstance, facts: BridgeFacts): void {
  const { catalog, control, drainGate, profiles, readReadiness, revisions, routes, settings } = facts
  const discovered = listDiscoveredProfiles(profiles)
  const targetFacts = createTargetFacts(facts)
  const { find: findTargets } = targetFacts
  const writeModels = createModelsWriter((facts, scope) => {
    const { snapshot, healths } = facts
    const shown = scope === undefined ? profiles : selectProfiles(profiles, snapshot)
    return JSON.stringify(createBridgeModelsDocument(snapshot, revisions, { profiles: shown, healths, findTargets }))
  })
  const matrix = JSON.stringify(createSupportMatrixDocument(supportMatrix, revisions))

  function mount(path: string, write: (context: RequestContext) => string | Promise<string>): void {
    const handler = async ({ context }: FastifyRequest, reply: FastifyReply) => {
      if (drainGate.isDraining) throw new GatewayError('gateway_not_ready', { reason: 'gateway_shutting_down' })
      sendJson(reply, 200, {}, await write(context))
    }
    app.route({ method: ['GET', 'HEAD'], url: path, config: { traits: systemTraits(path, 'file-key') }, handler })
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
    if (!isInScope(context.modelScope, model)) throw modelNotFound()
    const modelRoute = findModelRoute(profiles, model)
    const inventoryRevision = await findInventoryRevision(context, model, modelRoute)
    const route = describeCapabilityRoute(query, modelRoute, { profiles, routes, capabilities: providerCapabilities })
    const { providerKind, profileId } = modelRoute.profile
    const effective = decideCapabilities(route, { publicModel: model, providerKind })
    const targets = targetFacts.find(model)
    const subject = { model, providerKind, providerProfileId: profileId, publicProtocol, apiMode, targets }
    const document = createEffectiveCapabilitiesDocument({ ...subject, inventoryRevision, ...effective }, revisions)
    return JSON.stringify(document)
  }

  mount('/bridge/models', async context => {
    const snapshot = await readCatalog(context, 'model_catalog_unavailable')
    const current = { snapshot, healths: control.providerHealth(), states: targetFacts.writeStates() }
    return writeModels(current, context.modelScope)
  })
  mount('/bridge/capabilities', context => {
    const query = readCapabilityQuery(context.query, { defaultApiMode: settings.upstreamApiMode })
    if (query !== undefined) return writeCapabilities(context, query)
    // A supervisor plans routes by the matrix, and a gateway that is not ready has none yet.
    const [reason] = createReadinessDocument(readReadiness()).reasons
    if (reason !== undefined) throw new GatewayError('gateway_not_ready', { reason: reason.reason_id })
    return matrix
  })
}

interface TargetFacts {
  readonly find: FindTargets
  /** The states of all targets as one text: it changes when one of them does. */
  writeStates(): string
}

const STATE_WORDS = { healthy: 'healthy', resting: 'resting', due: 'returning' } as const

/** Reads the targets of aliases with their states of now. */
function createTargetFacts({ routes, targets: pool }: Pick<BridgeFacts, 'routes' | 'targets'>): TargetFacts {
  const all = [...routes.aliases.values()].flatMap(({ targets }) => targets ?? [])
  const readState: ReadTargetState = target => STATE_WORDS[pool.stateOf(target)]
  return {
    find(alias) {
      const { targets, refusal } = routes.aliases.get(alias) ?? {}
      return targets === undefined || refusal !== undefined ? undefined : describeTargets(targets, readState)
    },
    writeStates: () => all.map(readState).join()
  }
}

/** What the document of the models is made of. */
interface ModelsFacts {
  readonly snapshot: CatalogSnapshot
  readonly healths: readonly ProviderHealth[]
  /** Of all targets. */
  readonly states: string
}

/** The profiles of the models of a snapshot. */
function selectProfiles({ profiles, ...set }: ProfileSet, { models }: CatalogSnapshot): ProfileSet {
  const ids = new Set(models.map(({ providerProfileId }) => providerProfileId))
  return { ...set, profiles: profiles.filter(({ profileId }) => ids.has(profileId)) }
}

type WriteModels = (facts: ModelsFacts, scope: ModelScope) => string

/**
 * Writes the text of all models once: the same one is shown until the next discovery, or until more is known of a provider or a target.
 */
function createModelsWriter(write: WriteModels): WriteModels {
  let written: { facts: ModelsFacts; text: string } | undefined
  return (facts, scope) => {
    if (scope !== undefined) return write(facts, scope)
    const { snapshot, healths, states } = written?.facts ?? {}
    if (written === undefined || snapshot !== facts.snapshot || healths !== facts.healths || states !== facts.states) {
      written = { facts, text: write(facts, scope) }
    }
    return written.text
  }
}
