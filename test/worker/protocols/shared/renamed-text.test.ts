import t from 'tap'
import { renameText, renameTextInFrame } from '../../../../worker/protocols/shared/renamed-text.ts'

const rename = (json: string, path = ['model']) => renameText(Buffer.from(json), path, 'new').toString()
const renameFrame = (frame: string, path = ['message', 'model']) =>
  renameTextInFrame(Buffer.from(frame), path, 'new').toString()

t.test('a text is replaced in place, and every other byte stays', async t => {
  t.equal(
    rename(
      '{ "a" : {"model":"x"}, "b":["model","model"],\n"model" :\t"old" , "n":1.50,"u":"\\u00e4","t":"\\"model\\":\\"old\\""}\n'
    ),
    '{ "a" : {"model":"x"}, "b":["model","model"],\n"model" :\t"new" , "n":1.50,"u":"\\u00e4","t":"\\"model\\":\\"old\\""}\n'
  )
  t.equal(
    rename(
      '{"x":[{"message":{"model":"x"}}],"message":{"a":{"model":"x"},"b":[{"model":"x"}],"model":"old"},"model":"x"}',
      ['message', 'model']
    ),
    '{"x":[{"message":{"model":"x"}}],"message":{"a":{"model":"x"},"b":[{"model":"x"}],"model":"new"},"model":"x"}'
  )
})

t.test('JSON without the text stays as it is', async t => {
  for (const json of [
    '{}',
    '{"a":1}',
    '{"model":null}',
    '{"model":{"model":"x"}}',
    '[{"model":"x"}]',
    '{"a":"model"}'
  ]) {
    t.equal(rename(json), json)
  }
  for (const json of [
    '{"message":"model"}',
    '{"message":{"a":{"model":"x"}},"model":"x"}',
    '{"message":{}, "a":{"model":"x"}}'
  ]) {
    t.equal(rename(json, ['message', 'model']), json)
  }
})

t.test('a text that cannot be replaced in place is replaced all the same: no client sees it', async t => {
  t.equal(rename('{"model":"one","a":1,"model":"two"}'), '{"model":"new","a":1}')
  t.equal(rename('{"mod\\u0065l":"old"}'), '{"model":"new"}')
  t.equal(
    rename('{"message":{"model":"one"},"message":{"model":"two"}}', ['message', 'model']),
    '{"message":{"model":"new"}}'
  )
  t.equal(rename('{"m\\u0061":1, "model":"old"}'), '{"ma":1,"model":"new"}')
})

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
    t.equal(renameFrame(write('old')), write('new'))
  }
  for (const frame of [
    ': "message"\n\n',
    'event: ping\n\n',
    'data: {"type":"ping"}\n\n',
    'data: [DONE]\n\n',
    'data\n\n'
  ]) {
    t.equal(renameFrame(frame), frame)
  }
})

t.test('data in several lines is written as one where it has the text', async t => {
  t.equal(
    renameFrame('event: a\ndata: {"message":\ndata: {"model":\ndata: "old"}}\nid: 1\n\n'),
    'event: a\ndata:{"message":{"model":"new"}}\nid: 1\n\n'
  )
  t.equal(renameFrame('data: {"a":\ndata: 1}\n\n'), 'data: {"a":\ndata: 1}\n\n')
  t.equal(
    renameFrame('data: {"message":{"model":"one"},"message":{"model":"two"}}\r\n\r\n'),
    'data:{"message":{"model":"new"}}\r\n\r\n'
  )
})
