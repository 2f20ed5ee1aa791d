// What a continued response costs in the store of responses, among few stored responses and among many, side by side (memory.md 6).
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import pg from 'pg'
import { pino } from 'pino'
import type { Owner, ResponseRecord, ResponseStore } from '../../shared/memory/store.ts'
import type { OpenStore, StoreEngineOptions } from '../../supervisor/store/engine.ts'
import { openPostgresStore } from '../../supervisor/store/postgres/open.ts'
import { openSqliteStore } from '../../supervisor/store/sqlite/open.ts'
import { startPostgres } from './stores.ts'

const FEW = 1000
const TURNS = 20
/** A continuation among many responses may cost this much of one among few. */
const RATIO_MAX = 1.5
/** Continuations that are measured in turn, and how many of them before, for the caches and the compiler. */
const ROUNDS = 300
const WARM_UP_ROUNDS = 100
/** Asked together while the store is filled. */
const GROUP = 250
const OWNERS = 20
/** Contents are pieces of it, so that no two are the same. */
const TEXT = randomBytes(384 * 1024).toString('base64')

/** An engine with a place for its databases. */
export interface MeasuredEngine {
  readonly name: string
  /** Opens an empty database. */
  open(name: 'few' | 'many', options: StoreEngineOptions): Promise<OpenStore>
  close(): Promise<void>
}

/** Engines by the name of their database. */
const ENGINES = { sqlite: createSqliteEngine, postgres: createPostgresEngine } as const

/** A SQLite file in a temporary folder. */
export async function createSqliteEngine(): Promise<MeasuredEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-'))
  return {
    name: 'sqlite',
    open: (name, options) => openSqliteStore({ ...options, dsn: `sqlite:${join(folder, `${name}.sqlite`)}` }),
    close: async () => rmSync(folder, { recursive: true, force: true })
  }
}

/** Databases of a server that is started for it. */
async function createPostgresEngine(): Promise<MeasuredEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-'))
  const server = await startPostgres(folder)
  return {
    name: 'postgres',
    async open(name, options) {
      const client = new pg.Client(server.dsn)
      await client.connect()
      await client.query(`CREATE DATABASE ${name}`)
      await client.end()
      return openPostgresStore({ ...options, dsn: server.dsn.replace(/[^/]+$/, name) })
    },
    async close() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

export interface ChainFigures {
  /** Medians in microseconds. */
  readonly few: Readonly<Record<Phase, number>>
  readonly many: Readonly<Record<Phase, number>>
  readonly ratio: Readonly<Record<Phase | 'whole', number>>
}

type Phase = 'history' | 'save'
const PHASES: readonly Phase[] = ['history', 'save']

/** Prints the figures of each engine whose name has `only` in it; false when one misses its goal. */
export async function measureChains({ only, responses }: { only: string; responses: number }): Promise<boolean> {
  let isGood = true
  for (const [name, create] of Object.entries(ENGINES)) {
    if (!name.includes(only)) continue
    const engine = await create()
    try {
      const started = performance.now()
      const { few, many, ratio } = await compareSizes(engine, responses)
      const line = (name: string, { history, save }: Record<Phase, number>, unit: string) =>
        console.log(
          `${engine.name.padEnd(9)} ${name.padEnd(20)} history ${history.toFixed(2)} ${unit}, save ${save.toFixed(2)} ${unit}`
        )
      line(`among ${FEW}`, few, 'us')
      line(`among ${responses}`, many, 'us')
      line('ratio', ratio, 'x')
      const isMet = ratio.whole <= RATIO_MAX
      const seconds = ((performance.now() - started) / 1000).toFixed(0)
      console.log(
        `${engine.name.padEnd(9)} continuation of ${TURNS} turns: ${ratio.whole.toFixed(2)} x, goal ${RATIO_MAX} x: ${isMet ? 'met' : 'MISSED'} (${seconds} s)`
      )
      isGood &&= isMet
    } finally {
      await engine.close()
    }
  }
  return isGood
}

/** Fills two databases and continues chains of 20 turns in both, one by one and in turn. */
export async function compareSizes(engine: MeasuredEngine, responses: number): Promise<ChainFigures> {
  const options: StoreEngineOptions = {
    dsn: '',
    key: undefined,
    previousKey: undefined,
    maxBytes: 20_971_520,
    maxBytesPerOwner: 0,
    retentionDays: 30,
    autoMigrate: true,
    workers: 1,
    nowMs: Date.now,
    log: pino({ level: 'silent' })
  }
  const sizes = { few: FEW, many: responses } as const
  const stores = { few: await engine.open('few', options), many: await engine.open('many', options) }
  try {
    const chains = { few: await fill(stores.few, sizes.few), many: await fill(stores.many, sizes.many) }
    const samples = { few: newSamples(), many: newSamples() }
    for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
      for (const size of round % 2 === 0 ? (['few', 'many'] as const) : (['many', 'few'] as const)) {
        const times = await continueChain(stores[size], chains[size], round)
        if (round >= WARM_UP_ROUNDS) for (const phase of PHASES) samples[size][phase].push(times[phase])
      }
    }
    const [few, many] = [readMedians(samples.few), readMedians(samples.many)]
    const ratio = {
      history: many.history / few.history,
      save: many.save / few.save,
      whole: (many.history + many.save) / (few.history + few.save)
    }
    return { few, many, ratio }
  } finally {
    await stores.few.close()
    await stores.many.close()
  }
}

const newSamples = (): Record<Phase, number[]> => ({ history: [], save: [] })

function readMedians(samples: Record<Phase, readonly number[]>): Record<Phase, number> {
  const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
  return { history: median(samples.history), save: median(samples.save) }
}

interface Chain {
  readonly owner: Owner
  last: string
}

/** Stores chains of 20 turns whose turns are far from each other, as those of many clients are. */
async function fill(store: ResponseStore, responses: number): Promise<Chain[]> {
  const count = Math.ceil(responses / TURNS)
  const chains = Array.from(
    { length: count },
    (_, index): Chain => ({ owner: { name: `key-${index % OWNERS}` }, last: '' })
  )
  for (let turn = 0; turn < TURNS; turn++) {
    for (let start = 0; start < count; start += GROUP) {
      await Promise.all(chains.slice(start, start + GROUP).map(chain => saveTurn(store, chain)))
    }
  }
  return chains
}

async function saveTurn(store: ResponseStore, chain: Chain): Promise<void> {
  const record = makeRecord(chain.last)
  const result = await store.saveResponse({ owner: chain.owner, record })
  if (result !== 'saved') throw new Error(`a response was not saved: ${result}`)
  chain.last = record.id
}

/** Each chain is continued once, so that all have the same length; the chains are taken from everywhere. */
async function continueChain(
  store: ResponseStore,
  chains: readonly Chain[],
  round: number
): Promise<Record<Phase, number>> {
  const chain = chains[(round * 7919) % chains.length]
  if (chain === undefined) throw new Error('there is no chain')
  const started = performance.now()
  const history = await store.readHistory({ owner: chain.owner, previousResponseId: chain.last, itemIds: [] })
  const read = performance.now()
  if (history.kind !== 'found' || history.turns.length !== TURNS) throw new Error('the chain was not found')
  const record = makeRecord(chain.last)
  const before = performance.now()
  // A branch: the next continuation has as many turns.
  await store.saveResponse({ owner: chain.owner, record })
  return { history: (read - started) * 1000, save: (performance.now() - before) * 1000 }
}

function makeRecord(previous: string): ResponseRecord {
  const id = `resp_${randomBytes(24).toString('base64url')}`
  const item = `msg_${randomBytes(24).toString('base64url')}`
  const input = JSON.stringify({ type: 'message', role: 'user', content: cut(300) })
  const output = JSON.stringify({
    id: item,
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: cut(500) }]
  })
  return {
    id,
    createdAt: Math.floor(Date.now() / 1000),
    status: 'completed',
    model: 'gpt-x',
    ...(previous !== '' && { previousResponseId: previous }),
    isBackground: false,
    input: [{ id: `msg_${randomBytes(24).toString('base64url')}`, json: Buffer.from(input) }],
    output: [{ id: item, json: Buffer.from(output) }],
    body: Buffer.from(JSON.stringify({ id, object: 'response', output: [], tools: cut(900) })),
    lastSequenceNumber: 9
  }
}

function cut(length: number): string {
  const start = Math.floor(Math.random() * (TEXT.length - length))
  return TEXT.slice(start, start + length)
}
