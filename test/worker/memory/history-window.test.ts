import t from 'tap'
import type { StoredItem } from '../../../shared/memory/store.ts'
import { selectHistory } from '../../../worker/memory/history-window.ts'

const item = (type: string, text = ''): StoredItem => ({
  id: `${type}-${text}`,
  json: Buffer.from(JSON.stringify({ text, type }))
})
const idsOf = (turns: readonly (readonly StoredItem[])[]) => turns.map(turn => turn.map(({ id }) => id))

t.test('a summary stands for everything before it', async t => {
  const turns = [
    [item('message', 'a'), item('message', 'b')],
    [item('message', 'c'), item('compaction_trigger'), item('compaction', '1')],
    [item('message', 'd'), item('message', 'e')]
  ]
  t.same(idsOf(selectHistory(turns)), [['compaction-1'], ['message-d', 'message-e']])
  const twice = [...turns, [item('compaction_trigger'), item('compaction', '2')], [item('message', 'f')]]
  t.same(idsOf(selectHistory(twice)), [['compaction-2'], ['message-f']])
})

t.test('a wish for a summary that had no effect is not repeated', async t => {
  const turns = [[item('message', 'a'), item('compaction_trigger')], [item('message', 'b')]]
  t.same(idsOf(selectHistory(turns)), [['message-a'], ['message-b']])
})

t.test('a history without summaries stays as it is', async t => {
  const turns = [[item('message', 'we speak of compaction')], [item('function_call')]]
  t.equal(selectHistory(turns), turns)
})
