// A simple model of chains of responses, and random questions that a store and the model must answer alike.
import type { Owner, StoredItem } from '../../shared/memory/store.ts'
import type { OpenStore } from '../../supervisor/store/engine.ts'
import * as fc from './properties.ts'
import { ALICE, BOB, makeId, makeItem, makeOutput, makeRecord, textOf } from './response-store-records.ts'

const OWNERS: readonly Owner[] = [ALICE, BOB]

/** `at` chooses one of the responses that were saved before, by its place from the newest. */
type Step =
  | { readonly kind: 'save'; readonly owner: number; readonly words: readonly string[]; readonly isResending: boolean }
  | { readonly kind: 'continue'; readonly at: number; readonly words: readonly string[]; readonly isResending: boolean }
  | { readonly kind: 'delete'; readonly at: number }

const words = fc.array(fc.constantFrom('yes', 'no', 'go on'), { maxLength: 3 })

/** Chains, branches, resent histories and deletions. */
export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('save' as const), owner: fc.nat(1), words, isResending: fc.boolean() }),
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('continue' as const), at: fc.nat(8), words, isResending: fc.boolean() })
    },
    fc.record({ kind: fc.constant('delete' as const), at: fc.nat(12) })
  ),
  { maxLength: 40 }
)

interface ModelResponse {
  readonly id: string
  readonly owner: Owner
  readonly previous: ModelResponse | undefined
  readonly input: readonly StoredItem[]
  readonly output: readonly StoredItem[]
  isDeleted: boolean
}

export interface ModelOptions {
  /** Whether an output that a client sends again as input is stored once. */
  readonly sharesOutputs?: boolean
}

/** Makes the steps on an empty store and compares its answers with the model; it is empty again in the end. */
export async function compareWithModel(
  store: OpenStore,
  list: readonly Step[],
  options: ModelOptions = {}
): Promise<void> {
  const responses: ModelResponse[] = []
  try {
    for (const step of list) await make(store, step, responses)
    await compareAll(store, responses, options)
  } finally {
    // The next list begins with an empty store too.
    for (const { owner, id } of responses) await store.deleteResponse({ owner, id })
  }
  expectSame(await store.totals(), { responses: 0, conversations: 0, bytes: 0 })
}

async function make(store: OpenStore, step: Step, responses: ModelResponse[]): Promise<void> {
  const chosen = 'at' in step ? responses.at(-1 - step.at) : undefined
  if (step.kind === 'delete') {
    if (chosen === undefined) return
    expectSame(await store.deleteResponse({ owner: chosen.owner, id: chosen.id }), !chosen.isDeleted)
    chosen.isDeleted = true
    return
  }
  const owner = step.kind === 'save' ? (OWNERS[step.owner] ?? ALICE) : (chosen?.owner ?? ALICE)
  const resent = step.isResending ? responses.findLast(response => response.owner === owner) : undefined
  const input = [...(resent?.input ?? []), ...(resent?.output ?? []), ...step.words.map(word => makeItem(word))]
  const output = step.words.slice(0, 2).map(word => makeOutput(word))
  const previous = step.kind === 'continue' ? chosen : undefined
  const id = makeId('resp')
  const record = makeRecord({ id, input, output, ...(previous && { previousResponseId: previous.id }) })
  expectSame(await store.saveResponse({ owner, record }), 'saved')
  responses.push({ id, owner, previous, input, output, isDeleted: false })
}

async function compareAll(
  store: OpenStore,
  responses: readonly ModelResponse[],
  { sharesOutputs = false }: ModelOptions
): Promise<void> {
  let bytes = 0
  const nodes = new Set<string>()
  for (const { owner, id, input, output, isDeleted } of responses) {
    const found = await store.readResponse({ owner, id })
    expectSame(found !== undefined, !isDeleted)
    if (found === undefined) continue
    expectSame(jsonOf(found.input), jsonOf(input))
    expectSame(jsonOf(found.output), jsonOf(output))
    bytes += found.body.length
    if (!sharesOutputs) bytes += output.reduce((sum, { json }) => sum + json.length, 0)
    const shared = sharesOutputs ? [...input, ...output] : input
    for (const [index, { json }] of shared.entries()) {
      const key = JSON.stringify([owner.name, jsonOf(shared.slice(0, index + 1))])
      if (!nodes.has(key)) bytes += json.length
      nodes.add(key)
    }
  }
  const totals = await store.totals()
  expectSame(totals, { responses: responses.filter(({ isDeleted }) => !isDeleted).length, conversations: 0, bytes })
  for (const response of responses) {
    const history = await store.readHistory({ owner: response.owner, previousResponseId: response.id, itemIds: [] })
    const turns = history.kind === 'found' ? history.turns.map(jsonOf) : undefined
    expectSame(turns, readTurns(response))
  }
}

/** Undefined: the chain cannot be continued. A response that continued a deleted one has lost its chain at once. */
function readTurns(response: ModelResponse): string[][] | undefined {
  const turns: string[][] = []
  for (let at: ModelResponse | undefined = response; at !== undefined; at = at.previous) {
    if (at.isDeleted) return undefined
    turns.unshift(jsonOf([...at.input, ...at.output]))
  }
  return turns
}

const jsonOf = (items: readonly StoredItem[]) => items.map(({ json }) => textOf(json))

function expectSame(found: unknown, wanted: unknown): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)]
  if (a !== b) throw new Error(`found ${a}, wanted ${b}`)
}
