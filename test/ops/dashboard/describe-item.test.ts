import t from 'tap'
import { describeItem } from '../../../ops/dashboard/src/data/describe-item.ts'

t.test('an item of a conversation is shown in words', async t => {
  const rows: Array<[item: unknown, who: string, text: string]> = [
    [{ role: 'user', content: 'Where?' }, 'user', 'Where?'],
    [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a' }, { type: 'input_image' }] },
      'user',
      'a\n[input_image]'
    ],
    [{ type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }, 'assistant', 'No.'],
    [{ type: 'function_call', name: 'f', arguments: '{"a":1}' }, 'function_call', 'f {"a":1}'],
    [{ type: 'custom_tool_call', name: 'f', input: 'x' }, 'custom_tool_call', 'f x'],
    [{ type: 'function_call_output', call_id: 'c', output: '21' }, 'function_call_output', 'c: 21'],
    [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'so' }] }, 'reasoning', 'so'],
    [{ type: 'reasoning', summary: [] }, 'reasoning', '–'],
    [{ type: 'compaction', id: 'x' }, 'compaction', '{"type":"compaction","id":"x"}'],
    [{ id: 'msg_1', omitted_bytes: 70_000 }, '–', '68.4 KiB, too large to be shown'],
    [null, '–', 'null'],
    [{ role: 'user', content: 5 }, 'user', '5']
  ]
  for (const [item, who, text] of rows) t.same(describeItem(item), { who, text })
})
