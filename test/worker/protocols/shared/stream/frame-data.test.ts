import t from 'tap'
import { JsonEdits } from '../../../../../worker/protocols/shared/json/edits.ts'
import { editJson } from '../../../../../worker/protocols/shared/json/spans.ts'
import { editFrameData, findFrameData } from '../../../../../worker/protocols/shared/stream/frame-data.ts'

const edits = new JsonEdits()
edits.replaceText(['message', 'model'], 'new')
const rename = (frame: string) => editFrameData(Buffer.from(frame), data => editJson(data, edits).edited).toString()

t.test('a frame keeps its lines, with the text in its data replaced', async t => {
  for (const end of ['\n', '\r\n', '\r']) {
    const write = (model: string) =>
      [
        'id: 1',
        ': "model"',
        'event: message_start',
        `data:  {"message":{"model":"${model}"}} `,
        'retry: 5',
        '',
        ''
      ].join(end)
    t.equal(rename(write('old')), write('new'))
  }
  for (const frame of [
    ': "message"\n\n',
    'event: ping\n\n',
    'data: {"type":"ping"}\n\n',
    'data: {"message":{"model":null}}\n\n',
    'data: {"message":{"a":{"model":"x"}},"model":"x"}\n\n',
    'data: [DONE]\n\n',
    'data\n\n'
  ]) {
    const bytes = Buffer.from(frame)
    t.equal(editFrameData(bytes, data => editJson(data, edits).edited).toString(), frame)
  }
})

t.test('data in several lines is written as one where it has the text', async t => {
  t.equal(
    rename('event: a\ndata: {"message":\ndata: {"model":\ndata: "old"}}\nid: 1\n\n'),
    'event: a\ndata: {"message": {"model": "new"}} \nid: 1\n\n'
  )
  t.equal(rename('data: {"a":\ndata: 1}\n\n'), 'data: {"a":\ndata: 1}\n\n')
})

t.test('a name that occurs twice is renamed each time: no client sees it', async t => {
  t.equal(
    rename('data: {"message":{"model":"one"},"message":{"mod\\u0065l":"two"}}\r\n\r\n'),
    'data: {"message":{"model":"new"},"message":{"mod\\u0065l":"new"}}\r\n\r\n'
  )
})

t.test('the data of a frame', async t => {
  t.equal(findFrameData(Buffer.from(': a\nevent: b\n\n')), undefined)
  t.equal(findFrameData(Buffer.from('data:a\n\n'))?.toString(), 'a')
  t.equal(findFrameData(Buffer.from('data: a\r\ndata: b\r\n\r\n'))?.toString(), 'a b ')
})
