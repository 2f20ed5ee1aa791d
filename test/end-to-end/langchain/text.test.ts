// LangChain against a started gateway: texts, streams, reasoning and attachments over all four operations.

import { AIMessage, HumanMessage, SystemMessage } from '@langchain/core/messages'
import t from 'tap'
import { lastUpstreamChat } from '../../support/client.ts'
import { readTurns } from '../../support/turns.ts'
import { createPicture, listUploads } from '../../support/upstream.ts'
import { addUp, createModels, startStack } from './support.ts'

const { emulator, gateway, seats, strangers } = await startStack(t)

for (const { name, version, model } of seats) {
  t.test(`${name}: invoke answers with text and usage`, async t => {
    const answer = await model.invoke([
      new SystemMessage('Be brief.'),
      new HumanMessage('[[text:Hello]][[usage:10,5,0]]')
    ])
    t.equal(answer.text, 'Hello')
    t.match(answer.usage_metadata, { input_tokens: 10, output_tokens: 5, total_tokens: 15 })
    const { path, body } = lastUpstreamChat(emulator)
    t.equal(path, `/api/${version}/chat/completions`)
    t.strictSame(readTurns(body), [
      { role: 'system', text: 'Be brief.' },
      { role: 'user', text: '[[text:Hello]][[usage:10,5,0]]' }
    ])
  })

  t.test(`${name}: batch answers every prompt`, async t => {
    const answers = await model.batch(['one', 'two', 'three'].map(word => `[[text:${word}]]`))
    t.strictSame(
      answers.map(({ text }) => text),
      ['one', 'two', 'three']
    )
  })

  t.test(`${name}: a stream comes in pieces and adds up to what invoke answers`, async t => {
    const prompt = '[[chunks:Hel|lo]][[usage:10,5,0]]'
    const pieces: string[] = []
    for await (const chunk of await model.stream(prompt)) if (chunk.text !== '') pieces.push(chunk.text)
    t.strictSame(pieces, ['Hel', 'lo'])
    t.equal((await addUp(await model.stream(prompt))).text, (await model.invoke(prompt)).text)
  })

  t.test(`${name}: a conversation keeps its turns`, async t => {
    const first = await model.invoke('[[text:one]]')
    const prompt = new HumanMessage('[[recall]]')
    const answer = await model.invoke([new HumanMessage('plum'), first, prompt])
    t.match(answer.text, /plum/)
    t.strictSame(readTurns(lastUpstreamChat(emulator).body), [
      { role: 'user', text: 'plum' },
      { role: 'assistant', text: 'one' },
      { role: 'user', text: '[[recall]]' }
    ])
    await model.invoke([new HumanMessage('plum'), new AIMessage('written by hand'), prompt])
    t.strictSame(readTurns(lastUpstreamChat(emulator).body)[1], { role: 'assistant', text: 'written by hand' })
  })
}

for (const { name, kind, model } of seats) {
  // Of a stream, this package counts only the input tokens of the first event, when the upstream has not counted any yet.
  if (kind === 'messages') continue

  t.test(`${name}: a stream has its usage`, async t => {
    const sum = await addUp(await model.stream('[[chunks:Hel|lo]][[usage:10,5,4]]'))
    t.match(sum.usage_metadata, {
      input_tokens: 10,
      output_tokens: 5,
      total_tokens: 15,
      input_token_details: { cache_read: 4 }
    })
  })
}

for (const { name, kind, model } of seats) {
  // The content family sends thoughts only to those who ask, and these packages ask only for models that they know.
  if (kind === 'content' || kind === 'content-legacy') continue

  t.test(`${name}: reasoning is kept apart from the text, whole and streamed`, async t => {
    const prompt = '[[reason:because]][[text:so]]'
    for (const answer of [await model.invoke(prompt), await addUp(await model.stream(prompt))]) {
      t.equal(answer.text, 'so')
      if (kind === 'chat') t.equal(answer.additional_kwargs.reasoning_content, 'because')
      else
        t.match(answer.contentBlocks, [
          { type: 'reasoning', reasoning: 'because' },
          { type: 'text', text: 'so' }
        ])
    }
  })
}

for (const version of ['v1', 'v2'] as const) {
  // The first package of the content family refuses pictures for a model whose name it does not know.
  const named = createModels(gateway.url, version)
  for (const kind of ['chat', 'responses', 'messages', 'content'] as const) {
    t.test(`${version} ${kind}: a picture is uploaded and attached`, async t => {
      const before = listUploads(emulator).length
      const url = `data:image/png;base64,${createPicture()}`
      const answer = await named[kind].invoke([
        new HumanMessage({
          content: [
            { type: 'text', text: '[[text:seen]]' },
            { type: 'image_url', image_url: { url } }
          ]
        })
      ])
      t.equal(answer.text, 'seen')
      t.equal(listUploads(emulator).length, before + 1)
      t.strictSame(readTurns(lastUpstreamChat(emulator).body), [{ role: 'user', text: '[[text:seen]]', files: 1 }])
    })
  }
}

t.test('nothing but this machine was spoken to', async t => {
  t.strictSame(strangers, [])
})
