import t from 'tap'
import type { JsonObject } from '../../../../worker/normalized/index.ts'
import { contentFace } from '../../../../worker/protocols/content/client/face.ts'
import { contentSameWire } from '../../../../worker/protocols/content/same-wire.ts'

const options = { modelsPath: '/v1beta/models' }

t.test(
  'media that the alias cannot read are described in the history, and refused in the newest turn (decisions.md 72)',
  async t => {
    const send = (contents: JsonObject[], features: readonly string[]) => {
      const body = { contents }
      const path = { model: 'alias', isStream: false }
      const { messages } = contentFace.readRequest(body, { requestId: 'r', path })
      const target = { upstreamModel: 'gemini-3-pro', isStream: false, messages, features }
      const written = contentSameWire.writeChat(body, target, options)
      return [written.body.contents, written.leftOut]
    }
    const image = { inlineData: { mimeType: 'image/png', data: 'AAAA' } }
    const pdf = { fileData: { mimeType: 'application/pdf', fileUri: 'https://a.example/a.pdf' } }
    const turn = { role: 'user', parts: [{ text: 'see' }, image, pdf] }
    const model = { role: 'model', parts: [{ text: 'seen' }] }
    const question = { role: 'user', parts: [{ text: 'and?' }] }
    t.strictSame(send([turn, model, question], []), [
      [
        {
          role: 'user',
          parts: [
            { text: 'see' },
            { text: '[image/png, 3 bytes: this model reads no images]' },
            { text: '[application/pdf, https://a.example/a.pdf: this model reads no files]' }
          ]
        },
        model,
        question
      ],
      ['contents[0].parts[1].inlineData', 'contents[0].parts[2].fileData']
    ])
    t.strictSame(send([turn, model, question], ['image_references']), [[turn, model, question], undefined])
    t.throws(() => send([turn], []), { code: 'unsupported_semantic', param: 'contents[0].parts[1].inlineData' })
    const call = { role: 'model', parts: [{ functionCall: { name: 'look', args: {} } }] }
    const result = { functionResponse: { name: 'look', response: { result: 'x' }, parts: [image] } }
    t.strictSame(send([question, call, { role: 'user', parts: [result] }], []), [
      [
        question,
        call,
        {
          role: 'user',
          parts: [
            {
              functionResponse: {
                name: 'look',
                response: { result: 'x', media_0: '[image/png, 3 bytes: this model reads no images]' },
                parts: []
              }
            }
          ]
        }
      ],
      ['contents[2].parts[0].functionResponse.parts[0].inlineData']
    ])
  }
)
