// Runs the cases of one setup against the gateways of two checkouts, one case after the other.

import { createEmulator } from '../emulator/server.ts'
import { type Client, createClient } from './client.ts'
import { type Difference, findDifferences } from './difference.ts'
import { type ComparedGateway, startGateway } from './gateway.ts'
import type { CompareCase, Setup, Transcript, UpstreamOrders, WireResponse } from './types.ts'
import { type ComparedUpstream, startRecording, startReplaying } from './upstream.ts'

/** The emulator's clock stands a day ahead, so that its times are told from those of a gateway. */
const DAY_MS = 86_400_000
const START_CASE = 'start'
const ignore = (): void => undefined
const SILENT_ORDERS: UpstreamOrders = { respondNext: ignore, failNext: ignore, expireTokens: ignore }

export interface FoundDifference {
  /** Name of the case. */
  name: string
  difference: Difference
}

export interface ComparedSides {
  checkouts: { old: string; new: string }
  /** Variables of the new side alone. */
  newVariables: Record<string, string>
}

/**
 * Compares two gateways, the one of `checkouts.old` against the emulator and the one of `checkouts.new` against what the emulator
 * responded to the other. Rejects when a gateway does not start or refuses a connection.
 */
export async function* compareSetup(
  setup: Setup,
  { checkouts, newVariables }: ComparedSides,
  folder: string
): AsyncGenerator<FoundDifference> {
  const nowMs = Date.now()
  const closers: Array<() => Promise<void> | void> = []
  try {
    const emulator = await createEmulator({
      now: () => nowMs + DAY_MS,
      control: false,
      extraModels: ['gemini-2.5-pro', 'gemini-3-flash-preview', 'gemini-x', 'google/gemini-x', 'X'],
      accessTokens: ['ready-token']
    })
    closers.push(() => emulator.close())
    const recording = await startRecording(emulator.port)
    closers.push(() => recording.close())
    const replaying = await startReplaying()
    closers.push(() => replaying.close())
    const open = async (
      checkout: string,
      upstream: ComparedUpstream,
      variables: Record<string, string> = {}
    ): Promise<OpenSide> => {
      const gateway = await startGateway({
        checkout,
        folder,
        variables: { ...upstreamVariables(upstream.port), ...setup.variables, ...variables }
      })
      closers.push(() => gateway.close())
      const client = createClient(gateway.port)
      closers.push(() => client.close())
      return { gateway, client, upstream }
    }
    const old = await open(checkouts.old, recording)
    const startRequests = await recording.takeRequests()
    replaying.load(recording.takeRecordings())
    const fresh = await open(checkouts.new, replaying, newVariables)
    const compare = (transcripts: { old: Transcript; new: Transcript }): Difference[] =>
      findDifferences({
        old: { transcript: transcripts.old, nowMs, ports: portsOf(old) },
        new: { transcript: transcripts.new, nowMs, ports: portsOf(fresh) }
      })
    const starts = {
      old: { upstream: startRequests, client: [] },
      new: { upstream: await replaying.takeRequests(), client: [] }
    }
    for (const difference of compare(starts)) yield { name: START_CASE, difference }
    for (const compared of setup.cases) {
      emulator.reset()
      const first = await runCase(compared, old, emulator)
      replaying.load(recording.takeRecordings())
      const second = await runCase(compared, fresh, SILENT_ORDERS)
      for (const difference of compare({ old: first, new: second })) yield { name: compared.name, difference }
    }
  } finally {
    for (const close of closers.reverse()) await close()
  }
}

interface OpenSide {
  gateway: ComparedGateway
  client: Client
  upstream: ComparedUpstream
}

async function runCase(
  { name, run }: CompareCase,
  side: OpenSide,
  upstream: UpstreamOrders & { expireTokens(): unknown }
): Promise<Transcript> {
  const responses: WireResponse[] = []
  const keep = (response: WireResponse): WireResponse => {
    responses.push(response)
    return response
  }
  const orders: UpstreamOrders = {
    respondNext: answer => upstream.respondNext(answer),
    failNext: rule => upstream.failNext(rule),
    expireTokens: () => {
      upstream.expireTokens()
    }
  }
  try {
    await run({
      upstream: orders,
      send: async request => keep(await side.client.send(request)),
      sendBytes: async bytes => keep(await side.client.sendBytes(bytes))
    })
    return { upstream: await side.upstream.takeRequests(), client: responses }
  } catch (error) {
    throw new Error(`The case "${name}" could not be run.`, { cause: error })
  }
}

function portsOf({ gateway, upstream }: OpenSide): Record<string, number> {
  return { gateway: gateway.port, upstream: upstream.port }
}

/** Variables that point a gateway at an upstream with the paths of the emulator. */
function upstreamVariables(port: number): Record<string, string> {
  return {
    UPSTREAM_BASE_URL: `http://127.0.0.1:${port}/api/v1`,
    UPSTREAM_AUTH_URL: `http://127.0.0.1:${port}/api/v2/oauth`,
    UPSTREAM_CREDENTIALS: Buffer.from('client:secret').toString('base64')
  }
}
