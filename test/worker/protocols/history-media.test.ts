// Media of a conversation on every external wire: what the model of an alias reads arrives, what it does not read is described in the
// history and refused in the newest turn (decisions.md 75 and 76).

import t from 'tap'
import { GatewayError, isJsonObject, type JsonObject } from '../../../worker/normalized/index.ts'
import { chatCompatibleFace } from '../../../worker/protocols/completions/provider/face.ts'
import { contentCompatibleFace } from '../../../worker/protocols/content/provider/face.ts'
import { messagesCompatibleFace } from '../../../worker/protocols/messages/provider/face.ts'
import type { ChatTarget, ProviderFace, WrittenChat } from '../../../worker/protocols/provider-face.ts'
import { clientFaces } from '../../../worker/protocols/registry.ts'

type Protocol = keyof typeof clientFaces
type Wire = 'chat_compatible' | 'messages_compatible' | 'content_compatible'

const wires = ['chat_compatible', 'messages_compatible', 'content_compatible'] as const
const faces: Record<Wire, ProviderFace> = {
  chat_compatible: chatCompatibleFace as ProviderFace,
  messages_compatible: messagesCompatibleFace as ProviderFace,
  content_compatible: contentCompatibleFace as ProviderFace
}
const options = { chatPath: '/chat/completions', messagesPath: '/messages', modelsPath: '/models' }

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const pdf = 'JVBERi0xLjQKMSAwIG9iajw8Pj5lbmRvYmoKdHJhaWxlcjw8Pj4KJSVFT0Y='
const pngUrl = `data:image/png;base64,${png}`

/** The body of a provider, from a request of a client. */
function write(
  protocol: Protocol,
  wire: Wire,
  body: JsonObject,
  target: Partial<ChatTarget> = {}
): WrittenChat<unknown> {
  const path = { model: 'a', isStream: false }
  const request = clientFaces[protocol].readRequest(body, {
    requestId: 'r',
    ...(protocol === 'content' ? { path } : {})
  })
  return faces[wire].writeChat(request, { upstreamModel: 'gemini-3-up', ...target }, options)
}

/** All texts of a body that hold this text. */
function findTexts(value: unknown, text: string): string[] {
  if (typeof value === 'string') return value.includes(text) ? [value] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(inner => findTexts(inner, text))
}

/** Where media stand in each wire. */
const blocks: Record<Wire, { image: (data: string) => JsonObject; pdf: (data: string, name?: string) => JsonObject }> =
  {
    chat_compatible: {
      image: data => ({ type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }),
      pdf: (data, name = 'document.pdf') => ({
        type: 'file',
        file: { filename: name, file_data: `data:application/pdf;base64,${data}` }
      })
    },
    messages_compatible: {
      image: data => ({ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }),
      pdf: (data, name) => ({
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data },
        ...(name === undefined ? {} : { title: name })
      })
    },
    content_compatible: {
      image: data => ({ inlineData: { mimeType: 'image/png', data } }),
      pdf: data => ({ inlineData: { mimeType: 'application/pdf', data } })
    }
  }

/** A result with an image and a text beside it, of every client family. */
const imageResults: Record<Protocol, JsonObject> = {
  completions: {
    messages: [
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":"x"}' } }]
      },
      {
        role: 'tool',
        tool_call_id: 'call_1',
        content: [
          { type: 'text', text: 'a shot' },
          { type: 'image_url', image_url: { url: pngUrl } }
        ]
      }
    ]
  },
  responses: {
    input: [
      { role: 'user', content: 'go' },
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{"a":"x"}' },
      {
        type: 'function_call_output',
        call_id: 'call_1',
        output: [
          { type: 'input_text', text: 'a shot' },
          { type: 'input_image', image_url: pngUrl }
        ]
      }
    ]
  },
  messages: {
    max_tokens: 9,
    messages: [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'f', input: { a: 'x' } }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'call_1',
            content: [
              { type: 'text', text: 'a shot' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }
            ]
          }
        ]
      }
    ]
  },
  content: {
    contents: [
      { role: 'user', parts: [{ text: 'go' }] },
      { role: 'model', parts: [{ functionCall: { id: 'call_1', name: 'f', args: { a: 'x' } } }] },
      {
        role: 'user',
        parts: [
          {
            functionResponse: {
              id: 'call_1',
              name: 'f',
              response: { result: 'a shot' },
              parts: [{ inlineData: { mimeType: 'image/png', data: png } }]
            }
          }
        ]
      }
    ]
  }
}

const mediaPaths: Record<Protocol, string> = {
  completions: 'messages[2].content[1]',
  responses: 'input[2].output[1].image_url',
  messages: 'messages[2].content[0].content[1]',
  content: 'contents[2].parts[0].functionResponse.parts[0].inlineData'
}

for (const [protocol, body] of Object.entries(imageResults) as [Protocol, JsonObject][]) {
  for (const wire of wires) {
    t.test(`${protocol} to ${wire}: an image in a result is placed as the wire allows`, async t => {
      const { body: written, leftOut } = write(protocol, wire, body)
      t.equal(leftOut, undefined)
      t.equal(findTexts(written, png).length, 1, 'the image arrives once')
      const image = blocks[wire].image(png)
      if (wire === 'chat_compatible') {
        const [result, behind] = (written.messages as JsonObject[]).slice(-2)
        const text = protocol === 'content' ? '{"result":"a shot"}' : 'a shot'
        t.match(result, { role: 'tool', tool_call_id: 'call_1', content: text })
        t.strictSame(behind, { role: 'user', content: [image] })
      } else if (wire === 'messages_compatible') {
        t.match((written.messages as JsonObject[]).at(-1), {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'text' }, image] }]
        })
      } else {
        t.match((written.contents as JsonObject[]).at(-1), {
          parts: [{ functionResponse: { name: 'f', response: { result: 'a shot' }, parts: [image] } }]
        })
      }
    })

    t.test(`${protocol} to ${wire}: an image in a result is described for a model without images`, async t => {
      const { body: written, leftOut } = write(protocol, wire, body, { features: ['text'] })
      t.strictSame(findTexts(written, png), [])
      const [described = ''] = findTexts(written, 'image/png')
      t.match(described, '[image/png, 70 bytes: this model reads no images]')
      t.equal(findTexts(written, 'a shot').length, 1, 'the text stays')
      t.strictSame(leftOut, [mediaPaths[protocol]])
    })
  }
}

t.test('the newest turn of the user is refused where its media do not reach the model', async t => {
  const parts: Record<Protocol, [JsonObject, string]> = {
    completions: [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: pngUrl } }] }] },
      'messages[0].content[0]'
    ],
    responses: [
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: pngUrl }] }] },
      'input[0].content[0].image_url'
    ],
    messages: [
      {
        max_tokens: 9,
        messages: [
          {
            role: 'user',
            content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }]
          }
        ]
      },
      'messages[0].content[0]'
    ],
    content: [
      { contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: png } }] }] },
      'contents[0].parts[0].inlineData'
    ]
  }
  for (const [protocol, [body, param]] of Object.entries(parts) as [Protocol, [JsonObject, string]][]) {
    for (const wire of wires) {
      const refused = catchError(() => write(protocol, wire, body, { features: ['text'] }))
      t.match(refused, { code: 'unsupported_semantic', param, cause: 'feature_not_declared:image_references' })
      t.doesNotThrow(() => write(protocol, wire, body, { features: ['image_references'] }))
      const later = addTurn(protocol, body)
      t.match(
        write(protocol, wire, later, { features: ['text'] }).leftOut,
        [param],
        'in an earlier turn it is described'
      )
    }
  }
})

function addTurn(protocol: Protocol, body: JsonObject): JsonObject {
  if (protocol === 'content') {
    const turns = [
      { role: 'model', parts: [{ text: 'ok' }] },
      { role: 'user', parts: [{ text: 'more' }] }
    ]
    return { ...body, contents: [...(body.contents as JsonObject[]), ...turns] }
  }
  const list = protocol === 'responses' ? 'input' : 'messages'
  const turns = [
    { role: 'assistant', content: 'ok' },
    { role: 'user', content: 'more' }
  ]
  return { ...body, [list]: [...(body[list] as JsonObject[]), ...turns] }
}

function catchError(act: () => unknown): GatewayError | undefined {
  try {
    act()
    return undefined
  } catch (thrown) {
    if (GatewayError.is(thrown)) return thrown
    throw thrown
  }
}

t.test('a picture that the model made stands before what the user says next', async t => {
  const body = {
    contents: [
      { role: 'user', parts: [{ text: 'draw' }] },
      { role: 'model', parts: [{ text: 'Here.' }, { inlineData: { mimeType: 'image/png', data: png } }] },
      { role: 'user', parts: [{ text: 'in blue' }] }
    ]
  }
  t.strictSame((write('content', 'chat_compatible', body).body.messages as JsonObject[]).slice(1), [
    { role: 'assistant', content: 'Here.' },
    { role: 'user', content: [blocks.chat_compatible.image(png), { type: 'text', text: 'in blue' }] }
  ])
  t.strictSame((write('content', 'messages_compatible', body).body.messages as JsonObject[]).slice(1), [
    { role: 'assistant', content: 'Here.' },
    { role: 'user', content: [blocks.messages_compatible.image(png), { type: 'text', text: 'in blue' }] }
  ])
  t.strictSame((write('content', 'content_compatible', body).body.contents as JsonObject[])[1], body.contents[1])
})

t.test('a file that is no text reaches a model that reads files, and is described for others', async t => {
  const body = {
    input: [
      {
        role: 'user',
        content: [{ type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` }]
      },
      { role: 'assistant', content: 'ok' },
      { role: 'user', content: 'more' }
    ]
  }
  for (const wire of wires) {
    const { body: written } = write('responses', wire, body, { features: ['file_inputs'] })
    t.ok(
      findBlock(written, blocks[wire].pdf(pdf, 'a.pdf')),
      `${wire}: ${JSON.stringify(written.messages ?? written.contents)}`
    )
    const without = write('responses', wire, body, { features: ['text'] })
    t.match(findTexts(without.body, 'a.pdf'), ['[application/pdf, a.pdf, 44 bytes: this model reads no files]'])
    t.strictSame(without.leftOut, ['input[0].content[0].file_data'])
    const byImages = write('responses', wire, body, { features: ['image_references'] })
    t.equal(byImages.leftOut === undefined, wire !== 'chat_compatible', `${wire}: the pages of a PDF are images`)
  }
})

function findBlock(value: unknown, block: JsonObject): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (isJsonObject(value) && JSON.stringify(value) === JSON.stringify(block)) return true
  return Object.values(value).some(inner => findBlock(inner, block))
}

t.test('a file of text is read by every model', async t => {
  const data = Buffer.from('PLAIN-DOCUMENT').toString('base64')
  for (const [name, type] of [
    ['notes.txt', ''],
    ['notes.md', 'data:text/markdown;base64,'],
    ['n', 'data:application/json;base64,']
  ]) {
    const content = [{ type: 'input_file', filename: name, file_data: `${type}${data}` }]
    for (const wire of wires) {
      const { body, leftOut } = write('responses', wire, { input: [{ role: 'user', content }] }, { features: ['text'] })
      t.strictSame(findTexts(body, 'PLAIN-DOCUMENT'), ['PLAIN-DOCUMENT'], `${wire}: ${name}`)
      t.equal(leftOut, undefined)
    }
  }
})

t.test('what the wire has no place for is described in the history, whatever the model reads', async t => {
  const rows: Array<[Wire, JsonObject, string]> = [
    [
      'chat_compatible',
      { type: 'input_file', file_url: 'https://a.test/a.pdf' },
      '[file, https://a.test/a.pdf: this model cannot read it]'
    ],
    ['chat_compatible', { type: 'input_image', file_id: 'file-1' }, '[image, file-1: this model cannot read it]'],
    [
      'messages_compatible',
      { type: 'input_image', image_url: `data:image/bmp;base64,${'A'.repeat(65_536)}` },
      '[image/bmp, 48 KB: this model cannot read it]'
    ],
    [
      'content_compatible',
      { type: 'input_image', image_url: 'http://a.test/a.png' },
      '[image, http://a.test/a.png: this model cannot read it]'
    ]
  ]
  for (const [wire, part, text] of rows) {
    const input = [
      { role: 'user', content: [part] },
      { role: 'assistant', content: 'ok' },
      { role: 'user', content: 'more' }
    ]
    t.strictSame(findTexts(write('responses', wire, { input }).body, text.slice(0, 6)), [text])
    const newest = catchError(() => write('responses', wire, { input: input.slice(0, 1) }))
    t.match(newest, { code: 'unsupported_semantic', cause: 'media_not_expressed' })
  }
})

t.test('a PDF and a text in a result of the messages protocol are read', async t => {
  const withDocument = (source: JsonObject) => ({
    max_tokens: 9,
    messages: [
      { role: 'user', content: 'read it' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'call_1',
            content: [
              { type: 'text', text: 'file was read' },
              { type: 'document', source }
            ]
          }
        ]
      }
    ]
  })
  const document = withDocument({ type: 'base64', media_type: 'application/pdf', data: pdf })
  for (const wire of wires) {
    const { body, leftOut } = write('messages', wire, document, { features: ['file_inputs'] })
    t.ok(findBlock(body, blocks[wire].pdf(pdf)), wire)
    t.equal(leftOut, undefined)
    const described = write('messages', wire, document, { features: ['text'] })
    t.strictSame(described.leftOut, ['messages[2].content[0].content[1]'])
    t.equal(findTexts(described.body, 'this model reads no files').length, 1)
    const sources = [
      { type: 'text', media_type: 'text/plain', data: 'PLAIN-DOCUMENT' },
      { type: 'content', content: [{ type: 'text', text: 'PLAIN-DOCUMENT' }] },
      { type: 'base64', media_type: 'text/plain', data: Buffer.from('PLAIN-DOCUMENT').toString('base64') }
    ]
    for (const source of sources) {
      t.equal(findTexts(write('messages', wire, withDocument(source)).body, 'PLAIN-DOCUMENT').length, 1)
    }
  }
  const result = {
    type: 'search_result',
    title: 'Oslo',
    source: 'https://a.test',
    content: [{ type: 'text', text: 'cold' }]
  }
  const body = { max_tokens: 9, messages: [{ role: 'user', content: [result] }] }
  t.strictSame(write('messages', 'chat_compatible', body).body.messages, [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Oslo\nhttps://a.test' },
        { type: 'text', text: 'cold' }
      ]
    }
  ])
})
