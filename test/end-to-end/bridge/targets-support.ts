// Deployments of one model for tests: servers on loopback that count what they get, and profiles that name them.

import type { Test } from 'tap'
import type { ModelAlias, ProviderProfile } from '../../../shared/profile/profile.ts'
import { FEATURE_NAMES } from '../../../shared/profile/profile.ts'
import { aliasOf, edgeProfile } from '../../support/profile-sets.ts'
import { type StubHandler, type StubServer, sendJson, startStub } from '../../worker/providers/support/stub-upstream.ts'
import { chatAnswer } from './executor-support.ts'

export interface Deployment {
  /** Its profile's id. */
  id: string
  stub: StubServer
  /** What it does with the next requests. */
  act: StubHandler
}

/** Starts deployments that answer with their own name; they close with the test. */
export async function startDeployments(t: Test, ids: readonly string[]): Promise<Deployment[]> {
  return Promise.all(
    ids.map(async id => {
      const deployment: Deployment = {
        id,
        stub: undefined as never,
        act: (_, response) => sendJson(response, 200, chatAnswer(id))
      }
      deployment.stub = await startStub((request, response) => deployment.act(request, response))
      t.teardown(() => deployment.stub.close())
      return deployment
    })
  )
}

export interface TargetedOptions {
  /** Weight and priority by id; 1 and 0 unless given. */
  shares?: Readonly<Record<string, { weight?: number; priority?: number }>>
  /** Members of all profiles. */
  profile?: Partial<ProviderProfile>
  /** Members of the alias. */
  alias?: Partial<ModelAlias>
  /** The path of the base URL. */
  path?: string
}

export const ALIAS = 'many'

/** The profiles of the deployments; the first one has the alias that leads to all of them, with another model name at each. */
export function targetedProfiles(deployments: readonly Deployment[], options: TargetedOptions = {}): ProviderProfile[] {
  const { shares = {}, profile = {}, alias = {}, path = '/v1' } = options
  const targets = deployments.map(({ id }) => ({
    profileId: id,
    upstreamModel: `model-of-${id}`,
    weight: shares[id]?.weight ?? 1,
    priority: shares[id]?.priority ?? 0
  }))
  const declared = { features: FEATURE_NAMES, limits: { contextWindow: 128_000, maxOutputTokens: 4096 } }
  const many = aliasOf(ALIAS, targets[0]?.upstreamModel ?? '', { ...declared, targets, ...alias })
  return deployments.map(({ id, stub }, index) =>
    edgeProfile(index === 0 ? [many] : [], {
      profileId: id,
      baseUrl: `${stub.origin}${path.replace('<id>', id)}`,
      ...profile
    })
  )
}
