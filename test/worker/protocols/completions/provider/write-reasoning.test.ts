import t from 'tap'
import type { NormalizedMessage, NormalizedRequest } from '../../../../../worker/normalized/index.ts'
import { chatCompatibleFace } from '../../../../../worker/protocols/completions/provider/face.ts'
import { options, readRequest } from './support.ts'

const named = (reasoningName: string) => ({ chat_compatible: { reasoningName } })
const call = { type: 'tool-call', id: 'a', name: 'f', arguments: {} } as const

/** The messages of the body for a conversation with these turns of the model. */
function write(...turns: Array<NormalizedMessage['content']>) {
  const request: NormalizedRequest = readRequest('completions', { messages: [{ role: 'user', content: 'q' }] })
  for (const content of turns) request.messages.push({ role: 'assistant', content, form: 'text' })
  const { body } = chatCompatibleFace.writeChat(request, { upstreamModel: 'm' }, options)
  return (body.messages as object[]).slice(1)
}

t.test('reasoning goes back in the member in which the provider gave it (decisions.md 81)', async t => {
  for (const name of ['reasoning_content', 'reasoning']) {
    const thought = { type: 'reasoning', text: 'because', state: named(name) } as const
    t.match(write([thought, { type: 'text', text: 'so' }, call]), [
      { content: 'so', [name]: 'because', tool_calls: [{}] }
    ])
    t.match(write([thought, call]), [{ content: null, [name]: 'because' }])
    t.match(write([thought, { type: 'text', text: 'so' }]), [{ content: 'so', [name]: 'because' }])
    const pieces = [
      { type: 'reasoning', text: 'be' },
      { type: 'reasoning', text: 'cause' },
      { type: 'reasoning', text: '', state: named(name) }
    ] as const
    t.match(write([...pieces, call]), [{ [name]: 'because' }], 'in pieces, the state with the last')
    const twice = write([thought, call, { ...thought, text: 'then' }])
    t.match(twice, [{ [name]: 'because\nthen' }])
  }
})

t.test('thinking among the parts of the content goes back there', async t => {
  const thought = { type: 'reasoning', text: 'because', state: named('content') } as const
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'because' }] }
  t.strictSame(write([thought, { type: 'text', text: 'so' }]), [
    { role: 'assistant', content: [thinking, { type: 'text', text: 'so' }] }
  ])
  t.match(write([thought, call]), [{ content: [thinking], tool_calls: [{}] }])
})

t.test('reasoning that the provider did not name is not sent', async t => {
  for (const state of [undefined, { messages_compatible: { signature: 's' } }, named('role'), named('__proto__')]) {
    const thought = { type: 'reasoning', text: 'because', ...(state && { state }) } as const
    const [message] = write([thought, { type: 'text', text: 'so' }, call])
    t.notMatch(JSON.stringify(message), /because/)
    t.match(message, { role: 'assistant', content: 'so' })
  }
})

t.test('reasoning that is a turn of its own belongs to the turn behind it', async t => {
  const thought = { type: 'reasoning', text: 'because', state: named('reasoning_content') } as const
  const text = { type: 'text', text: 'so' } as const
  t.match(write([thought], [call]), [{ content: null, reasoning_content: 'because', tool_calls: [{}] }])
  t.equal(write([thought], [call]).length, 1)
  t.match(write([thought], [text], [call]), [{ content: 'so', reasoning_content: 'because' }])
  const own = write([thought], [{ ...thought, text: 'then' }, text])
  t.match(own, [{ reasoning_content: 'because' }, { content: 'so', reasoning_content: 'then' }])
})
