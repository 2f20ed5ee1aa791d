// What belongs to one client is not there for another: by the name of its key, and under pass-through by its own credential (memory.md 2).

import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { catchError } from '../../support/errors.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { openTemporaryStore } from '../../support/response-store.ts'
import { startStoringGateway } from './stored-support.ts'

const model = 'GigaChat-2'

/** Lets one client store things, and checks that another one can neither read nor continue nor change them. */
async function checkIsolation(t: Test, owner: OpenAI, stranger: OpenAI): Promise<void> {
  const { id } = await owner.responses.create({ model, input: '[[text:secret]]' })
  const itemId = (await owner.responses.inputItems.list(id)).data[0]?.id ?? ''
  const conversation = await owner.conversations.create({ items: [{ role: 'user', content: 'secret' }] })
  const ask = (sdk: OpenAI, body: object) => () => sdk.responses.create({ model, input: 'x', ...body })
  const uses = (sdk: OpenAI) => [
    () => sdk.responses.retrieve(id),
    () => sdk.responses.inputItems.list(id),
    () => sdk.conversations.retrieve(conversation.id),
    () => sdk.conversations.items.list(conversation.id),
    ask(sdk, { previous_response_id: id }),
    ask(sdk, { conversation: conversation.id }),
    ask(sdk, { input: [{ type: 'item_reference', id: itemId }] }),
    () => sdk.conversations.delete(conversation.id),
    () => sdk.responses.delete(id)
  ]
  for (const [index, use] of uses(stranger).entries()) {
    const error = await catchError(use)
    t.match(error, { status: 404 }, `use ${index}`)
    t.notMatch(String(error), /secret/)
  }
  for (const [index, use] of uses(owner).entries())
    t.equal(await catchError(use), undefined, `use ${index} of its owner`)
}

t.test('memory 8: another key has nothing of a key, and cannot continue it', async t => {
  const gateway = await startStoringGateway(t)
  await checkIsolation(t, gateway.client('first', '/v1'), gateway.client('second', '/v1'))
})

t.test('memory 8: under pass-through another credential has nothing of a credential', async t => {
  const emulator = await startEmulator(t)
  const memory = await openTemporaryStore(t)
  const env = { ...emulatorVariables(emulator), GATEWAY_PASS_TOKEN: 'true' }
  const { url } = await startGateway(t, { env, memory })
  const client = (name: string) => {
    const credentials = Buffer.from(`${name}:secret-of-${name}`).toString('base64')
    return new OpenAI({ baseURL: `${url}/v2`, apiKey: `upstream-cred-${credentials}`, maxRetries: 0 })
  }
  await checkIsolation(t, client('ann'), client('ben'))
  const plain = new OpenAI({ baseURL: `${url}/v2`, apiKey: 'none', maxRetries: 0 })
  await checkIsolation(t, client('cleo'), plain)
  await checkIsolation(t, plain, client('cleo'))
})
