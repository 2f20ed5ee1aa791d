// Clients that send as many requests as their limits let them, and what their requests came to.
import type { LimitsHost } from './limits-host.ts'
import type { VirtualTime } from './virtual-time.ts'

const MINUTE_MS = 60_000

export interface AdmittedAt {
  readonly atMs: number
  readonly amount: number
}

export interface ClientOptions {
  readonly key: string
  readonly count: number
  /** Milliseconds that the next request runs. */
  readonly durationMs: () => number
  readonly tokens?: () => number
  /** What a request has used at its end; as many tokens as were reserved unless given. */
  readonly usedTokens?: (reserved: number) => number
  readonly costNanos?: () => number
}

export interface Clients {
  readonly admitted: readonly AdmittedAt[]
  readonly refusals: ReadonlyMap<string, number>
  readonly running: number
  readonly runningMax: number
  readonly costNanos: number
  stop(): void
}

/** Each client sends one request after the other to a worker of its own, and waits as long as a refusal says. */
export function startClients(time: VirtualTime, hosts: readonly LimitsHost[], options: ClientOptions): Clients {
  const { key, tokens = () => 0, usedTokens = (reserved: number) => reserved, costNanos = () => 0 } = options
  const admitted: AdmittedAt[] = []
  const refusals = new Map<string, number>()
  const state = { running: 0, runningMax: 0, costNanos: 0 }
  let isStopped = false

  async function run(client: number): Promise<void> {
    const host = hosts[client % hosts.length]
    if (host === undefined) return
    while (!isStopped) {
      const reserved = tokens()
      const admission = await host.request(Math.floor(client / hosts.length), key, reserved)
      if (admission.kind === 'refused') {
        refusals.set(admission.code, (refusals.get(admission.code) ?? 0) + 1)
        await time.sleep(admission.retryAfterMs ?? 1_000)
        continue
      }
      const used = usedTokens(reserved)
      const cost = costNanos()
      admitted.push({ atMs: time.nowMs, amount: reserved === 0 ? 1 : used })
      state.running += 1
      state.runningMax = Math.max(state.runningMax, state.running)
      await time.sleep(options.durationMs())
      state.running -= 1
      state.costNanos += cost
      admission.request.end({ tokens: used, costNanos: cost })
    }
  }

  for (let client = 0; client < options.count; client += 1) void run(client)
  return {
    admitted,
    refusals,
    get running() {
      return state.running
    },
    get runningMax() {
      return state.runningMax
    },
    get costNanos() {
      return state.costNanos
    },
    stop() {
      isStopped = true
    }
  }
}

/** The most that any minute has, and the least that a minute on the clock has between the two times. */
export function measureMinutes(
  admitted: readonly AdmittedAt[],
  { fromMs, toMs }: { fromMs: number; toMs: number }
): { most: number; least: number } {
  let most = 0
  let sum = 0
  let first = 0
  for (const { atMs, amount } of admitted) {
    sum += amount
    for (
      let oldest = admitted[first];
      oldest !== undefined && oldest.atMs <= atMs - MINUTE_MS;
      oldest = admitted[first]
    ) {
      sum -= oldest.amount
      first += 1
    }
    most = Math.max(most, sum)
  }
  let least = Number.POSITIVE_INFINITY
  for (let startMs = fromMs; startMs + MINUTE_MS <= toMs; startMs += MINUTE_MS) {
    const isIn = (atMs: number) => atMs >= startMs && atMs < startMs + MINUTE_MS
    least = Math.min(
      least,
      admitted.reduce((total, { atMs, amount }) => (isIn(atMs) ? total + amount : total), 0)
    )
  }
  return { most, least }
}
