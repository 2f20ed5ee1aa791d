import t from 'tap'
import type { JsonObject } from '../../../../../worker/normalized/index.ts'
import { writeToolCallId } from '../../../../../worker/normalized/index.ts'
import { writeThoughtSignature } from '../../../../../worker/protocols/content/client/thought-signature.ts'
import { read, readMessages, refusedAt } from './support.ts'

const refusedParts = (parts: JsonObject['contents'], role = 'user') => refusedAt({ contents: [{ role, parts }] })

t.test('roles are those of the protocol, and a missing role is user', async t => {
  const parts = [{ text: 'a' }]
  t.strictSame(
    readMessages([{ parts }, { role: 'user', parts }, { role: 'model', parts }, { role: 'function', parts }]),
    [
      { role: 'user', content: [{ type: 'text', text: 'a' }] },
      { role: 'user', content: [{ type: 'text', text: 'a' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'a' }] },
      { role: 'tool', sentRole: 'function', content: [{ type: 'text', text: 'a' }] }
    ]
  )
  t.equal(readMessages([{ role: 'tool', parts }])[0]?.role, 'tool')
  t.equal(readMessages([{ role: null, parts }])[0]?.role, 'user')
  t.equal(refusedAt({ contents: [{ role: 'assistant', parts }] }), 'contents[0].role')
  t.equal(refusedAt({ contents: [{ role: 7, parts }] }), 'contents[0].role')
})

t.test('content 50: contents of a wrong shape are refused with the path of the member', async t => {
  const parts = [{ text: 'a' }]
  const cases: Array<[JsonObject, string]> = [
    [{ contents: null }, 'contents'],
    [{ contents: 'hi' }, 'contents'],
    [{ contents: [] }, 'contents'],
    [{ contents: ['hi'] }, 'contents[0]'],
    [{ contents: [{}] }, 'contents[0].parts'],
    [{ contents: [{ parts: [] }] }, 'contents[0].parts'],
    [{ contents: [{ parts }, { parts: 'hi' }] }, 'contents[1].parts'],
    [{ contents: [{ parts: [...parts, 'hi'] }] }, 'contents[0].parts[1]'],
    [{ contents: [{ parts: [{}] }] }, 'contents'],
    [{ contents: [{ parts: [{ unknown: 1 }] }] }, 'contents[0].parts[0]'],
    [{ contents: [{ parts: [{ text: 3 }] }] }, 'contents[0].parts[0].text'],
    [
      { contents: [{ parts: [{ text: 'a', inlineData: { mimeType: 'image/png', data: 'AA==' } }] }] },
      'contents[0].parts[0]'
    ],
    [{ contents: { parts: [{}] } }, 'contents']
  ]
  for (const [body, path] of cases) t.equal(refusedAt(body), path, JSON.stringify(body))
})

t.test('a single content and a single part need no list', async t => {
  t.strictSame(readMessages({ parts: { text: 'a' } }), [{ role: 'user', content: [{ type: 'text', text: 'a' }] }])
})

t.test('content 13, 14: the instruction is one text, from parts or from a plain string', async t => {
  const system = (systemInstruction: JsonObject['x']) => read({ systemInstruction }).messages[0]
  t.strictSame(system({ role: 'user', parts: [{ text: 's1' }, { inlineData: {} }, { text: 's2' }] }), {
    role: 'system',
    content: [{ type: 'text', text: 's1s2' }],
    form: 'text'
  })
  t.strictSame(system('be brief'), { role: 'system', content: [{ type: 'text', text: 'be brief' }], form: 'text' })
  t.strictSame(system({ parts: { text: 'be brief' } }), {
    role: 'system',
    content: [{ type: 'text', text: 'be brief' }],
    form: 'text'
  })
  for (const nothing of ['', {}, { parts: [] }, { parts: [{ text: '' }] }, null]) t.equal(system(nothing)?.role, 'user')
  t.equal(refusedAt({ systemInstruction: 3 }), 'systemInstruction')
  t.equal(refusedAt({ system_instruction: [] }), 'system_instruction')
  t.equal(refusedAt({ systemInstruction: { parts: [{ text: {} }] } }), 'systemInstruction.parts[0].text')
})

t.test('content 19: a body in snake case means the same as one in camel case', async t => {
  const camel = read({
    systemInstruction: { parts: [{ text: 's' }] },
    contents: [
      {
        parts: [
          { inlineData: { mimeType: 'image/png', data: 'AA==', displayName: 'a.png' } },
          { fileData: { fileUri: 'files/f' } }
        ]
      },
      { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
      { parts: [{ functionResponse: { name: 'f', response: {} } }] }
    ],
    tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: { type: 'object' } }] }, { googleSearch: {} }],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
    generationConfig: {
      topP: 0.5,
      topK: 3,
      maxOutputTokens: 33,
      stopSequences: ['x'],
      responseMimeType: 'application/json',
      responseSchema: { type: 'OBJECT', propertyOrdering: [] },
      thinkingConfig: { thinkingBudget: 8000, includeThoughts: true },
      candidateCount: 2
    },
    safetySettings: []
  })
  const snake = read({
    system_instruction: { parts: [{ text: 's' }] },
    contents: [
      {
        parts: [
          { inline_data: { mime_type: 'image/png', data: 'AA==', display_name: 'a.png' } },
          { file_data: { file_uri: 'files/f' } }
        ]
      },
      { role: 'model', parts: [{ function_call: { name: 'f', args: {} } }] },
      { parts: [{ function_response: { name: 'f', response: {} } }] }
    ],
    tools: [
      { function_declarations: [{ name: 'f', parameters_json_schema: { type: 'object' } }] },
      { google_search: {} }
    ],
    tool_config: { function_calling_config: { mode: 'ANY', allowed_function_names: ['f'] } },
    generation_config: {
      top_p: 0.5,
      top_k: 3,
      max_output_tokens: 33,
      stop_sequences: ['x'],
      response_mime_type: 'application/json',
      response_schema: { type: 'OBJECT', property_ordering: [] },
      thinking_config: { thinking_budget: 8000, include_thoughts: true },
      candidate_count: 2
    },
    safety_settings: []
  })
  const text = JSON.stringify(snake)
    .replaceAll('inline_data', 'inlineData')
    .replaceAll('file_data', 'fileData')
    .replaceAll('function_response', 'functionResponse')
    .replaceAll('google_search', 'googleSearch')
  t.strictSame(JSON.parse(text), camel)
})

t.test("an error has the path in the client's spelling", async t => {
  t.equal(refusedParts([{ inline_data: { mime_type: 3 } }]), 'contents[0].parts[0].inline_data.mime_type')
  t.equal(refusedParts([{ function_call: {} }], 'model'), 'contents[0].parts[0].function_call.name')
})

t.test('thoughts of the history stay thoughts, and their images are dropped (C1)', async t => {
  const [message] = readMessages([
    {
      role: 'model',
      parts: [
        { text: 'hm', thought: true, thoughtSignature: 'CiQB' },
        { inlineData: { mimeType: 'image/png', data: 'AA==' }, thought: true },
        { text: 'a', thought: false }
      ]
    }
  ])
  t.strictSame(message?.content, [
    { type: 'reasoning', text: 'hm', state: { content_compatible: { thoughtSignature: 'CiQB' } } },
    { type: 'text', text: 'a' }
  ])
})

t.test('inline data is an image or a file in standard base64', async t => {
  const path = 'contents[0].parts[0].inlineData'
  const one = (inlineData: JsonObject) => readMessages([{ parts: [{ inlineData }] }])[0]?.content[0]
  t.strictSame(one({ mimeType: 'image/PNG', data: '-_8=' }), {
    type: 'image',
    source: { kind: 'bytes', mediaType: 'image/PNG', base64: '+/8=' },
    path
  })
  t.strictSame(one({ mimeType: 'application/pdf', data: 'AA==', displayName: 'a.pdf' }), {
    type: 'file',
    source: { kind: 'bytes', mediaType: 'application/pdf', base64: 'AA==' },
    path,
    filename: 'a.pdf'
  })
  t.equal(refusedParts([{ inlineData: 'x' }]), path)
  t.equal(refusedParts([{ inlineData: { mimeType: 'image/png' } }]), `${path}.data`)
  t.equal(refusedParts([{ inlineData: { data: 'AA==' } }]), `${path}.mimeType`)
  t.equal(refusedParts([{ inlineData: { mimeType: 'image/png', data: '' } }]), `${path}.data`)
})

t.test('file data is a URL to download, or the id of an uploaded file', async t => {
  const path = 'contents[0].parts[0].fileData'
  const one = (fileData: JsonObject) => readMessages([{ parts: [{ fileData }] }])[0]?.content[0]
  t.strictSame(one({ fileUri: 'https://a.test/b.png', mimeType: 'image/png' }), {
    type: 'image',
    source: { kind: 'url', url: 'https://a.test/b.png', mediaType: 'image/png' },
    path
  })
  t.strictSame(one({ fileUri: 'files/f-1', displayName: '' }), {
    type: 'file',
    source: { kind: 'file-id', fileId: 'f-1' },
    path
  })
  t.strictSame(one({ fileUri: '1f0c2b34-7a51' }), {
    type: 'file',
    source: { kind: 'file-id', fileId: '1f0c2b34-7a51' },
    path
  })
  for (const fileUri of ['http://a.test/', 'gs://bucket/a', 'data:text/plain,a']) {
    t.match(one({ fileUri }), { source: { kind: 'url', url: fileUri } }, `${fileUri} (decisions.md 105)`)
  }
  t.match(one({ fileUri: 'data:image/png;base64,AA==' }), { source: { kind: 'bytes', base64: 'AA==' } })
  for (const fileUri of ['file:///a', 'ftp://a.test/', 'files/', 'a/b', '', 3]) {
    t.equal(refusedParts([{ fileData: { fileUri } }]), `${path}.fileUri`, String(fileUri))
  }
})

t.test('content 49: part kinds of other services are dropped from the history', async t => {
  const parts = [
    { executableCode: { code: '1' } },
    { code_execution_result: { output: '1' } },
    { toolCall: {} },
    { toolResponse: {} },
    { audioTranscription: {} }
  ]
  t.strictSame(
    readMessages([
      { role: 'model', parts },
      { role: 'model', parts: [...parts, { text: 'a' }] }
    ]),
    [{ role: 'assistant', content: [{ type: 'text', text: 'a' }] }]
  )
  t.equal(refusedAt({ contents: [{ parts }] }), 'contents', 'nothing is left for the model')
})

t.test('a call has its id, or the id in its signature (C3)', async t => {
  const own = writeToolCallId({ stateId: 'ts-1', name: 'f', callNumber: 0, nonce: 'n' })
  const thoughtSignature = writeThoughtSignature({ callId: own }) ?? ''
  const call = (part: JsonObject) => readMessages([{ role: 'model', parts: [part] }])[0]?.content[0]
  const signedState = { state: { native: { toolStateId: 'ts-1' } } }
  const read = { type: 'tool-call', name: 'f', arguments: {} }
  t.strictSame(call({ functionCall: { name: 'f', id: 'call_1' } }), { ...read, id: 'call_1' })
  t.strictSame(call({ functionCall: { name: 'f' } }), { ...read, id: null })
  t.strictSame(call({ functionCall: { name: 'f', id: '' }, thoughtSignature }), { ...read, id: own, ...signedState })
  t.strictSame(call({ functionCall: { name: 'f', id: 'mine' }, thought_signature: thoughtSignature }), {
    ...read,
    id: 'mine',
    ...signedState
  })
  t.strictSame(call({ functionCall: { name: 'f' }, thoughtSignature: 'CiQB' }), {
    ...read,
    id: null,
    state: { content_compatible: { thoughtSignature: 'CiQB' } }
  })
  t.strictSame(call({ functionCall: { name: 'f' }, thoughtSignature: 'skip_thought_signature_validator' }), {
    ...read,
    id: null
  })
})

t.test('calls and responses of a wrong shape are refused with their path (B9, B12)', async t => {
  const path = 'contents[0].parts[0]'
  t.equal(refusedParts([{ functionCall: [] }], 'model'), `${path}.functionCall`)
  t.equal(refusedParts([{ functionCall: { name: '' } }], 'model'), `${path}.functionCall.name`)
  t.equal(refusedParts([{ functionCall: { name: 'f', args: '{}' } }], 'model'), `${path}.functionCall.args`)
  t.equal(refusedParts([{ functionCall: { name: 'f', id: 3 } }], 'model'), `${path}.functionCall.id`)
  t.equal(refusedParts([{ functionCall: { name: 'f' } }], 'user'), `${path}.functionCall`)
  t.equal(refusedParts([{ functionResponse: {} }]), `${path}.functionResponse.name`)
  t.equal(refusedParts([{ functionResponse: { name: 'f', response: [] } }]), `${path}.functionResponse.response`)
})

t.test('a function response keeps its object and the media beside it', async t => {
  const [message] = readMessages([
    {
      role: 'user',
      parts: [
        {
          functionResponse: {
            id: 'call_1',
            name: 'f',
            response: { output: 1 },
            parts: [
              { inlineData: { mimeType: 'image/png', data: 'AA==' } },
              { fileData: { fileUri: 'files/f' } },
              { unknown: {} }
            ]
          }
        },
        { text: 'and?' }
      ]
    }
  ])
  const path = 'contents[0].parts[0].functionResponse'
  t.strictSame(message?.content, [
    {
      type: 'tool-result',
      callId: 'call_1',
      name: 'f',
      content: [
        { type: 'text', text: '{"output":1}' },
        {
          type: 'image',
          source: { kind: 'bytes', mediaType: 'image/png', base64: 'AA==' },
          path: `${path}.parts[0].inlineData`
        },
        { type: 'file', source: { kind: 'file-id', fileId: 'f' }, path: `${path}.parts[1].fileData` }
      ],
      isError: false,
      path
    },
    { type: 'text', text: 'and?' }
  ])
})

t.test('a turn that the SDK recorded chunk by chunk is joined to one turn', async t => {
  const model = (...parts: JsonObject[]) => ({ role: 'model', parts })
  t.strictSame(
    readMessages([
      { role: 'user', parts: [{ text: 'hi' }] },
      model({ text: 'I ', thought: true }),
      model({ text: 'see', thought: true }),
      model({ text: 'Hel' }),
      model({ text: 'lo' }),
      model({ functionCall: { name: 'f' } }),
      model({ text: '' }),
      { role: 'user', parts: [{ text: 'more' }] },
      model({ text: 'A' }),
      model({ text: '' })
    ]),
    [
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'I see' },
          { type: 'text', text: 'Hello' },
          { type: 'tool-call', id: null, name: 'f', arguments: {} }
        ],
        form: 'pieces'
      },
      { role: 'user', content: [{ type: 'text', text: 'more' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'A' }] }
    ]
  )
})

t.test('model turns that were not streamed stay separate turns', async t => {
  const model = (text: string) => ({ role: 'model', parts: [{ text }] })
  t.equal(readMessages([model('a'), model('b'), { parts: [{ text: 'c' }] }]).length, 3)
  t.equal(readMessages([model(''), { parts: [{ text: '' }] }]).length, 1, 'only an empty model turn is dropped')
})

t.test(
  'signatures on texts are kept: signed texts stay separate, and a signature on the empty last text belongs to the turn',
  async t => {
    const model = (...parts: JsonObject[]) => ({ role: 'model', parts })
    const state = (thoughtSignature: string) => ({ content_compatible: { thoughtSignature } })
    t.strictSame(
      readMessages([
        model({ text: 'a' }),
        model({ text: 'b', thoughtSignature: 'sB' }),
        model({ text: 'c' }),
        model({ text: '', thoughtSignature: 'sEnd' })
      ]),
      [
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b', state: state('sB') },
            { type: 'text', text: 'c' },
            { type: 'text', text: '', state: state('sEnd') }
          ],
          form: 'pieces'
        }
      ]
    )
  }
)

t.test('an empty text that an SDK leaves out still has its signature (decisions.md 109)', async t => {
  const read = (...parts: JsonObject[]) =>
    readMessages([{ role: 'model', parts: [{ text: 'a' }, ...parts] }, { parts: [{ text: 'b' }] }])
  const spelled = [{ thoughtSignature: 'sEnd' }, { thought_signature: 'sEnd', thought: null }]
  for (const part of spelled) t.strictSame(read(part), read({ text: '', thoughtSignature: 'sEnd' }))
  const thoughtSignature = writeThoughtSignature({
    state: { messages_compatible: { signature: 'abc' } },
    hiddenText: 'hm'
  }) as string
  t.match(read({ thought: true, thoughtSignature })[0]?.content[1], { type: 'reasoning', text: 'hm' })
  for (const part of [{}, { thought: true }, { text: null }]) t.strictSame(read(part), read(), JSON.stringify(part))
})
