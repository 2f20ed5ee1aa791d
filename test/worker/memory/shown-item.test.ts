import t from 'tap'
import { writeItem, writeShownItem } from '../../../worker/memory/shown-item.ts'

const stored = (id: string, json: string) => ({ id, json: Buffer.from(json) })
const shown = (id: string, json: string) => JSON.parse(writeShownItem(stored(id, json)).toString())

t.test('an item without an id gets the one that it is stored under', async t => {
  t.strictSame(JSON.parse(writeItem(stored('fc_1', '{"type":"function_call","name":"f"}')).toString()), {
    type: 'function_call',
    name: 'f',
    id: 'fc_1'
  })
  t.equal(JSON.parse(writeItem(stored('fc_1', '{"id":null}')).toString()).id, 'fc_1')
  t.equal(writeItem(stored('rs_1', '{ "id":"rs_1" }')).toString(), '{ "id":"rs_1" }', 'any other stays byte for byte')
})

t.test('a short message is shown with its type, its status and a list of parts', async t => {
  t.strictSame(shown('msg_1', '{"role":"user","content":"line\\n\\"two\\""}'), {
    role: 'user',
    content: [{ type: 'input_text', text: 'line\n"two"' }],
    id: 'msg_1',
    type: 'message',
    status: 'completed'
  })
  t.strictSame(shown('msg_1', '{"type":"message","role":"assistant","content":"x"}').content, [
    { type: 'output_text', text: 'x', annotations: [], logprobs: [] }
  ])
})

t.test('calls and their results have a status, and other items only what they had', async t => {
  t.equal(shown('a', '{"type":"function_call_output","call_id":"c","output":"o"}').status, 'completed')
  t.equal(shown('a', '{"type":"function_call","status":"incomplete"}').status, 'incomplete')
  t.strictSame(shown('rs_1', '{"type":"reasoning","summary":[]}'), { type: 'reasoning', summary: [], id: 'rs_1' })
  const whole =
    '{"id":"msg_1","type":"message","status":"completed","role":"user","content":[],"n":12345678901234567890}'
  t.equal(writeShownItem(stored('msg_1', whole)).toString(), whole)
})
