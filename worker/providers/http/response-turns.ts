// What is read and written of all responses before other work of the event loop has its turn.

import { createTurnBudget } from '../../performance/turn-budget.ts'

/** In time, because 64 KB of tool calls cost twenty times as much as 64 KB of text. */
const MS_PER_TURN = 4

/** One budget for long reads, which take what they have cost, and for long queues and ends of responses, which wait for a turn. */
export const responseTurns = createTurnBudget(MS_PER_TURN)
