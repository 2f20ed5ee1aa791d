// What of a stored history is sent: a summary stands for everything before it, and the wish for it has been served (memory.md 3 and 5).

import { asBuffer } from '../../shared/bytes.ts'
import type { StoredItem } from '../../shared/memory/store.ts'
import { findJsonMember, listJsonMembers, readJsonText } from '../protocols/shared/json/json-parts.ts'

type Turns = readonly (readonly StoredItem[])[]

/** The turns from the newest summary on, without the wishes for summaries. The given ones where there is neither. */
export function selectHistory(turns: Turns): Turns {
  let hasTrigger = false
  for (let index = turns.length - 1; index >= 0; index--) {
    const turn = turns[index] ?? []
    const place = turn.findLastIndex(item => {
      const type = readCompactionType(item)
      hasTrigger ||= type === TRIGGER
      return type === 'compaction' || type === 'compaction_summary'
    })
    if (place >= 0) return withoutTriggers([turn.slice(place), ...turns.slice(index + 1)])
  }
  return hasTrigger ? withoutTriggers(turns) : turns
}

const TRIGGER = 'compaction_trigger'

function withoutTriggers(turns: Turns): Turns {
  return turns.map(turn => turn.filter(item => readCompactionType(item) !== TRIGGER))
}

/** The type of an item that has to do with summaries. Other items are not read. */
function readCompactionType({ json }: StoredItem): string | undefined {
  const bytes = asBuffer(json)
  if (!bytes.includes('compaction')) return undefined
  const type = findJsonMember(listJsonMembers(bytes) ?? [], 'type')
  return type && readJsonText(bytes, type)
}
