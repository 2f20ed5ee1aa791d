// LangChain with a started gateway: texts, streams, reasoning and attachments over all four operations.

import { AIMessage, HumanMessage, SystemMessage } from '@langchain/core/messages'
import t from 'tap'
import { lastUpstreamChat } from '../../support/client.ts'
import { readTurns } from '../../support/turns.ts'
import { createPicture, listUploads } from '../../support/upstream.ts'
import { addUp, createModels, startSharedStack } from './support.ts'

const { emulator, gateway, seats, strangers } = await startSharedStack()

for (const { name, version, model } of seats) {
  t.test(`${name}: invoke returns text and usage`, async t => {
    const response = await model.invoke([
      new SystemMessage('Be brief.'),
      new HumanMessage('[[text:Hello]][[usage:10,5,0]]')
    ])
    t.equal(response.text, 'Hello')
    t.match(response.usage_metadata, { input_tokens: 10, output_tokens: 5, total_tokens: 15 })
    const { path, body } = lastUpstreamChat(emulator)
    t.equal(path, `/api/${version}/chat/completions`)
    t.strictSame(readTurns(body), [
      { role: 'system', text: 'Be brief.' },
      { role: 'user', text: '[[text:Hello]][[usage:10,5,0]]' }
    ])
  })

  t.test(`${name}: batch returns a response for every prompt`, async t => {
    const responses = await model.batch(['one', 'two', 'three'].map(word => `[[text:${word}]]`))
    t.strictSame(
      responses.map(({ text }) => text),
      ['one', 'two', 'three']
    )
  })

  t.test(`${name}: a stream has several pieces and accumulates to the response of invoke`, async t => {
    const prompt = '[[chunks:Hel|lo]][[usage:10,5,0]]'
    const pieces: string[] = []
    for await (const chunk of await model.stream(prompt)) if (chunk.text !== '') pieces.push(chunk.text)
    t.strictSame(pieces, ['Hel', 'lo'])
    t.equal((await addUp(await model.stream(prompt))).text, (await model.invoke(prompt)).text)
  })

  t.test(`${name}: a conversation is sent with all its turns`, async t => {
    const first = await model.invoke('[[text:one]]')
    const prompt = new HumanMessage('[[recall]]')
    const response = await model.invoke([new HumanMessage('plum'), first, prompt])
    t.match(response.text, /plum/)
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
  // This package counts only the input tokens of a stream's first event, when the upstream has not counted them yet.
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
  // The content family returns thoughts only on request, and these packages request them only for models that they know.
  if (kind === 'content' || kind === 'content-legacy') continue

  t.test(`${name}: reasoning is separate from the text, whole and streamed`, async t => {
    const prompt = '[[reason:because]][[text:so]]'
    for (const response of [await model.invoke(prompt), await addUp(await model.stream(prompt))]) {
      t.equal(response.text, 'so')
      if (kind === 'chat') t.equal(response.additional_kwargs.reasoning_content, 'because')
      else
        t.match(response.contentBlocks, [
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
      const response = await named[kind].invoke([
        new HumanMessage({
          content: [
            { type: 'text', text: '[[text:seen]]' },
            { type: 'image_url', image_url: { url } }
          ]
        })
      ])
      t.equal(response.text, 'seen')
      t.equal(listUploads(emulator).length, before + 1)
      t.strictSame(readTurns(lastUpstreamChat(emulator).body), [{ role: 'user', text: '[[text:seen]]', files: 1 }])
    })
  }
}

t.test('every connection of these tests stays on this machine', async t => {
  t.strictSame(strangers, [])
})
