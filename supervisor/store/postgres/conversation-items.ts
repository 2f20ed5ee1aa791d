// The places of items in conversations.
import type { ResponseStatus, StoredItem } from '../../../shared/memory/store.ts'
import type { PostgresContext } from './context.ts'
import type { Run } from './database.ts'
import { type BoundedRow, boundContent, type NewItem, openBounded } from './items.ts'

/** Whether the conversation gets the items of such a response: one that failed is asked again, and would be there twice. */
export function isInConversation(status: ResponseStatus): boolean {
  return status === 'completed' || status === 'incomplete'
}

/** Adds stored items as one turn; the thread is locked. */
export async function appendTurn(
  run: Run,
  thread: { readonly id: string; readonly positions: number },
  items: readonly NewItem[]
): Promise<void> {
  if (items.length === 0) return
  await Promise.all([
    run(
      `INSERT INTO gateway_responses_conversation_items (thread, position, turn, item)
       SELECT $1, $2 + number - 1, $2, item FROM unnest($3::bytea[]) WITH ORDINALITY AS added (item, number)`,
      [thread.id, thread.positions, items.map(({ key }) => key)]
    ),
    run('UPDATE gateway_responses_threads SET positions = positions + $2 WHERE id = $1', [thread.id, items.length])
  ])
}

interface PlacedRow extends BoundedRow {
  readonly turn: number
}

/** The items by turns, up to a place. */
export async function readConversationTurns(
  run: Run,
  context: PostgresContext,
  { thread, last }: { readonly thread: string; readonly last?: number }
): Promise<StoredItem[][]> {
  const rows = await run<PlacedRow>(
    `SELECT p.turn, i.key, i.id, ${boundContent('i.bytes', 'i.content', '$3')} FROM gateway_responses_conversation_items p
     JOIN gateway_responses_items i ON i.key = p.item
     WHERE p.thread = $1 AND p.position <= $2 ORDER BY p.position`,
    [thread, last ?? Number.MAX_SAFE_INTEGER, context.answerBytesMax]
  )
  const turns = new Map<number, StoredItem[]>()
  for (const row of rows) {
    const turn = turns.get(row.turn) ?? []
    turns.set(row.turn, turn)
    turn.push(openBounded(context, row))
  }
  return [...turns.values()]
}
