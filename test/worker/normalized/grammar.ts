// The grammar of a stream of normalized events, as a check that says in words what is wrong.

import type { NormalizedEvent } from '../../../worker/normalized/index.ts'

/** What breaks the grammar of `worker/normalized/event.ts`; nothing for a stream that obeys it. */
export function checkGrammar(events: readonly NormalizedEvent[]): string[] {
  const faults: string[] = []
  const hosted = new Map<number, 'open' | 'ended'>()
  let open: string | undefined
  let toolCalls = 0
  let isStarted = false
  let isOver = false
  let usages = 0

  const expectOpen = (kind: string, type: string) => {
    if (open !== kind) faults.push(`${type} while ${open ?? 'nothing'} is open`)
  }
  const begin = (kind: string) => {
    if (open !== undefined) faults.push(`${kind} begins while ${open} is open`)
    open = kind
  }
  const finish = (kind: string, type: string) => {
    expectOpen(kind, type)
    open = undefined
  }

  for (const event of events) {
    if (isOver) faults.push(`${event.type} after the end`)
    if (!isStarted && event.type !== 'start' && event.type !== 'error') faults.push(`${event.type} before start`)
    if (usages > 0 && event.type !== 'finish' && event.type !== 'error') faults.push(`${event.type} after usage`)
    switch (event.type) {
      case 'start':
        if (isStarted) faults.push('a second start')
        isStarted = true
        break
      case 'text-start':
      case 'reasoning-start':
      case 'refusal-start':
        begin(event.type.replace('-start', ''))
        break
      case 'text-delta':
      case 'reasoning-delta':
      case 'refusal-delta':
        expectOpen(event.type.replace('-delta', ''), event.type)
        if (event.text === '') faults.push(`an empty ${event.type}`)
        break
      case 'text-end':
      case 'reasoning-end':
      case 'refusal-end':
        finish(event.type.replace('-end', ''), event.type)
        break
      case 'citation':
        expectOpen('text', event.type)
        break
      case 'tool-call-start':
        begin('tool-call')
        if (event.index !== toolCalls) faults.push(`call ${event.index} where ${toolCalls} is next`)
        if (event.name === '') faults.push('a call without a name')
        toolCalls++
        break
      case 'tool-call-delta':
        expectOpen('tool-call', event.type)
        if (event.index !== toolCalls - 1) faults.push(`arguments of call ${event.index}`)
        break
      case 'tool-call-end':
        finish('tool-call', event.type)
        break
      case 'hosted-tool-start':
        if (event.index !== hosted.size) faults.push(`run ${event.index} where ${hosted.size} is next`)
        if (open === 'reasoning') faults.push('a run begins in reasoning')
        hosted.set(event.index, 'open')
        break
      case 'hosted-tool-progress':
        if (hosted.get(event.index) !== 'open') faults.push(`progress of run ${event.index}`)
        break
      case 'hosted-tool-end':
        if (hosted.get(event.index) !== 'open') faults.push(`end of run ${event.index}`)
        hosted.set(event.index, 'ended')
        break
      case 'file':
        break
      case 'usage':
        usages++
        break
      case 'finish':
        if (open !== undefined) faults.push(`finish while ${open} is open`)
        if ([...hosted.values()].includes('open')) faults.push('finish while a run is open')
        isOver = true
        break
      case 'error':
        isOver = true
        break
    }
  }
  if (usages > 1) faults.push('more than one usage')
  if (!isOver) faults.push('no end')
  return faults
}
