import t from 'tap'
import type {
  ContentPart,
  FilePart,
  ImagePart,
  MediaSource,
  NormalizedMessage,
  NormalizedRequest
} from '../../../../worker/normalized/index.ts'
import { messagesFieldPaths } from '../../../../worker/protocols/messages/client/field-paths.ts'
import { nativeV1Face } from '../../../../worker/protocols/native/v1/face.ts'
import { nativeV2Face } from '../../../../worker/protocols/native/v2/face.ts'
import { makeRequest, plainOptions, say } from './support.ts'

const requestId = '0b6f0a52-7a51-4a0e-9c11-0d6f1b1f2a77'
const placeholder = (number: number) => `gateway-attachment/${requestId}/${number}`

const image = (source: MediaSource): ImagePart => ({ type: 'image', source, path: 'messages[0].content[1]' })
const url = (address: string) => image({ kind: 'url', url: address })
const bytes = (mediaType: string, base64 = 'QUJD'): MediaSource => ({ kind: 'bytes', mediaType, base64 })
const file = (source: MediaSource, filename?: string): FilePart => ({
  type: 'file',
  source,
  path: 'messages[0].content[1]',
  ...(filename === undefined ? {} : { filename })
})
const user = (...content: ContentPart[]): NormalizedMessage => ({ role: 'user', content })

function write(messages: NormalizedMessage[], members: Partial<NormalizedRequest> = {}, settings = plainOptions) {
  const request = makeRequest({ messages, ...members })
  return {
    v1: nativeV1Face.writeChat(request, { upstreamModel: 'm' }, settings),
    v2: nativeV2Face.writeChat(request, { upstreamModel: 'm' }, settings)
  }
}

t.test('an attachment is sent with its message: beside the text on v1, as the last part on v2', async t => {
  const { v1, v2 } = write([user({ type: 'text', text: 'look' }, image(bytes('image/png')))])
  t.strictSame(v1.body.messages, [{ role: 'user', content: 'look', attachments: [placeholder(0)] }])
  t.strictSame(v2.body.messages, [{ role: 'user', content: [{ text: 'look' }, { files: [{ id: placeholder(0) }] }] }])
  const pending = { placeholder: placeholder(0), source: bytes('image/png'), path: 'attachments' }
  t.strictSame([v1.attachments, v2.attachments], [[pending], [pending]])
})

t.test('a file id is sent as it is, without an upload', async t => {
  const { v1, v2 } = write([user(file({ kind: 'file-id', fileId: 'f1' }))])
  t.strictSame(v1.body.messages, [{ role: 'user', content: '', attachments: ['f1'] }])
  t.strictSame(v2.body.messages, [{ role: 'user', content: [{ text: '' }, { files: [{ id: 'f1' }] }] }])
  t.strictSame(v1.attachments, [])
})

t.test('an upload has the name of its file and the path of the part in the client protocol', async t => {
  const messages = [user(file(bytes('application/octet-stream'), 'Report.PDF'))]
  t.match(write(messages).v1.attachments, [{ filename: 'Report.PDF', path: 'attachments' }])
  t.match(write(messages, { fieldPaths: messagesFieldPaths }).v1.attachments, [{ path: 'messages[0].content[1]' }])
})

t.test('a source is uploaded once, even when it occurs twice in a message or in several messages', async t => {
  const { v1 } = write([
    user(url('https://a.test/1'), url('https://a.test/1')),
    say('assistant', 'nice'),
    user(url('https://a.test/1'), image(bytes('image/png')))
  ])
  t.equal(v1.attachments.length, 2)
  t.equal(v1.reading.droppedAttachments, 0)
  t.match(v1.body.messages, [{ attachments: [placeholder(0)] }, {}, { attachments: [placeholder(0), placeholder(1)] }])
})

t.test('a message sends two attachments; further ones are dropped and counted', async t => {
  const { v1 } = write([user(url('https://a.test/1'), url('https://a.test/2'), url('https://a.test/3'))])
  t.equal(v1.attachments.length, 2)
  t.equal(v1.reading.droppedAttachments, 1)
  t.equal(v1.reading.droppedAttachments, 1)
})

t.test('a request sends ten attachments, those of the newest messages', async t => {
  const messages = Array.from({ length: 7 }, (_, index) => [
    user(url(`https://a.test/${index}/1`), url(`https://a.test/${index}/2`)),
    say('assistant', 'ok')
  ]).flat()
  const { v1 } = write(messages)
  const urls = v1.attachments.map(pending => (pending.source.kind === 'url' ? pending.source.url : ''))
  t.equal(urls.length, 10)
  t.equal(urls[0], 'https://a.test/2/1')
  t.equal(v1.reading.droppedAttachments, 4)
})

t.test('a merged message has the attachments of all its messages', async t => {
  const { v1 } = write([
    user({ type: 'text', text: 'a' }, url('https://a.test/1'), url('https://a.test/2')),
    user({ type: 'text', text: 'b' }, url('https://a.test/3'))
  ])
  t.strictSame(v1.body.messages, [
    { role: 'user', content: 'a\nb', attachments: [placeholder(0), placeholder(1), placeholder(2)] }
  ])
})

t.test('images are left out when image input is switched off; the text and other files are sent', async t => {
  const settings = { ...plainOptions, isImageInputEnabled: false }
  const { v1 } = write(
    [user({ type: 'text', text: 'a' }, url('https://a.test/1'), file(bytes('image/png')), file(bytes('text/plain')))],
    {},
    settings
  )
  t.strictSame(v1.body.messages, [{ role: 'user', content: 'a', attachments: [placeholder(0)] }])
  t.match(v1.attachments, [{ source: { mediaType: 'text/plain' } }])
  t.equal(v1.reading.droppedAttachments, 0)
})

t.test(
  'a file that the upstream does not accept is refused, by media type or by extension when the type is unknown',
  async t => {
    const refuse = (part: ContentPart, members?: Partial<NormalizedRequest>) => () => write([user(part)], members)
    const unsupported = { code: 'unsupported_media_type', status: 415, param: 'attachments' }
    for (const mediaType of ['image/gif', 'image/webp', 'video/mp4', '']) {
      t.throws(refuse(image(bytes(mediaType))), unsupported, mediaType)
    }
    t.throws(refuse(file(bytes('application/zip'), 'a.zip')), unsupported)
    t.throws(refuse(file(bytes('application/octet-stream'), 'pdf')), unsupported)
    t.throws(refuse(image(bytes('image/webp')), { fieldPaths: messagesFieldPaths }), {
      ...unsupported,
      param: 'messages[0].content[1]'
    })
    for (const part of [
      image(bytes('IMAGE/PNG; charset=x')),
      file(bytes('audio/mp3')),
      file(bytes('application/pdf')),
      file(bytes('application/octet-stream'), 'a.b.TIFF')
    ]) {
      t.equal(write([user(part)]).v1.attachments.length, 1)
    }
  }
)

t.test('size limits count decoded bytes, per file and for images and audio together', async t => {
  const tooLarge = { code: 'request_entity_too_large', status: 413, param: 'attachments' }
  const sized = (count: number) => Buffer.alloc(count, count).toString('base64')
  t.ok(write([user(image(bytes('image/png', sized(15))))]))
  t.throws(() => write([user(image(bytes('image/png', sized(16))))]), tooLarge)
  t.ok(write([user(file(bytes('audio/wav', sized(24))))]))
  t.throws(() => write([user(file(bytes('audio/wav', sized(36))))]), tooLarge)
  t.ok(write([user(file(bytes('text/plain', sized(40))), file(bytes('text/plain', sized(39))))]))
  t.throws(() => write([user(file(bytes('text/plain', sized(41))))]), tooLarge)
  t.ok(write([user(image(bytes('image/png', sized(12))), image(bytes('image/png', sized(11))))]))
  t.throws(() => write([user(image(bytes('image/png', sized(13))), image(bytes('image/png', sized(12))))]), tooLarge)
})

t.test('in the history a text stands for what the upstream cannot read (decisions.md 75)', async t => {
  const sized = (count: number) => Buffer.alloc(count, count).toString('base64')
  const off = { ...plainOptions, isImageInputEnabled: false }
  const rows: Array<[ContentPart, string, typeof plainOptions?]> = [
    [image(bytes('image/webp')), '[image/webp, 3 bytes: this model cannot read it]'],
    [file(bytes('application/zip'), 'a.zip'), '[application/zip, a.zip, 3 bytes: this model cannot read it]'],
    [image(bytes('image/png', sized(16))), '[image/png, 16 bytes: it is too large for this model]'],
    [image(bytes('image/png')), '[image/png, 3 bytes: this model reads no images]', off],
    [url('https://a.test/1'), '[image, https://a.test/1: this model reads no images]', off]
  ]
  const call: ContentPart = { type: 'tool-call', id: 'c1', name: 'f', arguments: {} }
  const ok: ContentPart = { type: 'text', text: 'ok' }
  const look: ContentPart = { type: 'text', text: 'look' }
  const path = 'messages[0].content[1]'
  for (const [part, text, settings] of rows) {
    const next = [say('assistant', 'a'), user({ type: 'text', text: 'b' }, image(bytes('image/png', sized(2))))]
    const said = write([user(look, part), ...next], {}, settings)
    const withImage = settings === off ? {} : { attachments: [placeholder(0)] }
    t.strictSame(said.v1.body.messages, [
      { role: 'user', content: `look\n${text}` },
      { role: 'assistant', content: 'a' },
      { role: 'user', content: 'b', ...withImage }
    ])
    t.match(said.v2.body.messages, [{ content: [{ text: `look\n${text}` }] }, {}, {}])
    t.strictSame([said.v1.leftOut, said.v2.leftOut], [[path], [path]])
    const result: ContentPart = { type: 'tool-result', callId: 'c1', content: [ok, part], isError: false, path: 'p' }
    const returned = write([{ role: 'assistant', content: [call] }, user(result)], {}, settings)
    t.match(returned.v1.body.messages, [{}, { content: JSON.stringify({ result: `ok\n${text}` }) }])
    t.strictSame(returned.v1.leftOut, [path])
  }
  const markdown = write([user(file(bytes('text/markdown'), 'a.md')), say('assistant', 'a'), say('user', 'b')])
  t.match(markdown.v1.body.messages, [{ content: 'ABC' }, {}, {}], 'a file of text is text')
  t.equal(markdown.v1.leftOut, undefined)
})

t.test('media of the history leave room for those of the newest turn', async t => {
  const sized = (count: number) => Buffer.alloc(count, count).toString('base64')
  const turns = (first: number) => [
    user(image(bytes('image/png', sized(first)))),
    say('assistant', 'a'),
    user(image(bytes('image/png', sized(14))))
  ]
  const { v1 } = write(turns(13))
  t.match(v1.body.messages, [{ content: '[image/png, 13 bytes: it is too large for this model]' }, {}, { content: '' }])
  t.equal(v1.attachments.length, 1)
  t.equal(write(turns(14)).v1.attachments.length, 1, 'the same bytes count once')
})

t.test('files that were uploaded earlier are sent with the last user message', async t => {
  const uploadedFileIds = ['f1', 'f2']
  const { v1, v2 } = write([say('user', 'a'), say('assistant', 'b'), user(file({ kind: 'file-id', fileId: 'f1' }))], {
    uploadedFileIds
  })
  t.match(v1.body.messages, [{ attachments: undefined }, {}, { attachments: ['f1', 'f2'] }])
  t.match(v2.body.messages, [{}, {}, { content: [{}, { files: [{ id: 'f1' }, { id: 'f2' }] }] }])
  const withoutUser = write([say('system', 's')], { uploadedFileIds })
  t.strictSame(withoutUser.v1.body.messages, [
    { role: 'system', content: 's' },
    { role: 'user', content: '', attachments: ['f1', 'f2'] }
  ])
})

t.test('images in tool results are sent with the next user message', async t => {
  const call: NormalizedMessage = {
    role: 'assistant',
    content: [{ type: 'tool-call', id: 'c1', name: 'shot', arguments: {} }]
  }
  const result: ContentPart = {
    type: 'tool-result',
    callId: 'c1',
    content: [{ type: 'text', text: 'ok' }, url('https://a.test/1')],
    isError: false,
    path: 'p'
  }
  const expected = [
    { role: 'assistant', content: '', function_call: { name: 'shot', arguments: {} } },
    { role: 'function', name: 'shot', content: '{"result":"ok"}' }
  ]
  const followed = write([call, user(result, { type: 'text', text: 'and?' })])
  t.strictSame(followed.v1.body.messages, [
    ...expected,
    { role: 'user', content: 'and?', attachments: [placeholder(0)] }
  ])
  const last = write([call, { role: 'tool', content: [result] }])
  t.strictSame(last.v1.body.messages, [...expected, { role: 'user', content: '', attachments: [placeholder(0)] }])
  const continued = write([call, { role: 'tool', content: [result] }, say('assistant', 'seen')])
  t.match(continued.v1.body.messages, [...expected, { role: 'user' }, { role: 'assistant', content: 'seen' }])
})
