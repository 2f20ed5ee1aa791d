import t from 'tap'
import { startRecording, startReplaying } from '../../../ops/compare/upstream.ts'
import { startEmulator } from '../../support/gateway.ts'

const emulator = await startEmulator(t, { requireAuthorization: false })

async function ask(port: number, content: string, stream = false) {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'GigaChat-2', stream, messages: [{ role: 'user', content }] })
  })
  return { status: response.status, text: await response.text() }
}

t.test(
  'a replay responds with the recorded bytes to an equal request, and breaks off where the recording did',
  async t => {
    const recording = await startRecording(emulator.port)
    t.teardown(() => recording.close())
    const replaying = await startReplaying()
    t.teardown(() => replaying.close())
    const recorded = [await ask(recording.port, 'one'), await ask(recording.port, '[[chunks:a|b]]', true)]
    await t.rejects(ask(recording.port, '[[die:2]][[len:9]]', true))
    t.equal((await recording.takeRequests()).length, 3)
    replaying.load(recording.takeRecordings())
    t.strictSame(await ask(replaying.port, '[[chunks:a|b]]', true), recorded[1], 'found by its body, not by its order')
    t.strictSame(await ask(replaying.port, 'one'), recorded[0])
    await t.rejects(ask(replaying.port, '[[die:2]][[len:9]]', true))
    const unrecorded = await ask(replaying.port, 'one more')
    t.equal(unrecorded.status, 599)
    t.equal((await replaying.takeRequests()).length, 4)
  }
)
