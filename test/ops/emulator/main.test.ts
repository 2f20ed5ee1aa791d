// The emulator as a process: its output, and every way in which it exits.
import { type ChildProcess, fork, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { send } from './support.ts'

const entry = join(import.meta.dirname, '../../../ops/emulator/main.ts')
const fixture = (name: string) => join(import.meta.dirname, 'fixtures', name)

function start(t: Test, args: string[], stdio: StdioOptions = ['pipe', 'pipe', 'pipe']): ChildProcess {
  const child = spawn(process.execPath, [entry, ...args], { stdio })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

async function readOutput(stream: NodeJS.ReadableStream | null): Promise<string> {
  let text = ''
  for await (const chunk of stream ?? []) text += String(chunk)
  return text
}

/** Reads the one line on stdout. */
async function readLine(child: ChildProcess): Promise<Record<string, string>> {
  const [chunk] = await once(child.stdout!, 'data')
  return JSON.parse(String(chunk))
}

t.test('it prints one line of JSON and exits with code 0 on SIGTERM and SIGINT', async t => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const child = start(t, [])
    const line = await readLine(child)
    t.match(line, {
      event: 'listening',
      baseUrl: /^http:\/\/127\.0\.0\.1:\d+\/api\/v1$/,
      authUrl: /\/api\/v2\/oauth$/,
      controlUrl: /\/__control$/,
      chatBaseUrl: /\/openai\/v1$/,
      anthropicBaseUrl: /\/anthropic$/
    })
    t.equal((await send(`${line.controlUrl}/stats`)).status, 200)
    const rest = readOutput(child.stdout)
    child.kill(signal)
    t.same(await once(child, 'exit'), [0, null], signal)
    t.equal(await rest, '')
  }
})

t.test('it exits although connections are open and a response is pending', async t => {
  const child = start(t, [])
  const { controlUrl, chatBaseUrl } = await readLine(child)
  const body = { model: 'm', messages: [{ role: 'user', content: '[[hang]]' }] }
  const hanging = t.rejects(send(`${chatBaseUrl}/chat/completions`, { body }))
  await send(`${controlUrl}/stats?until=activeChatRequests>=1`)
  child.kill('SIGTERM')
  t.same(await once(child, 'exit'), [0, null])
  await hanging
})

t.test('it exits when the pipe on its stdin ends', async t => {
  const child = start(t, [])
  await readLine(child)
  child.stdin?.end()
  t.same(await once(child, 'exit'), [0, null])
})

t.test('it keeps running with the null device on stdin', async t => {
  const child = start(t, [], ['ignore', 'pipe', 'pipe'])
  const { controlUrl } = await readLine(child)
  t.equal((await send(`${controlUrl}/stats`)).status, 200)
  child.kill('SIGTERM')
  t.same(await once(child, 'exit'), [0, null])
})

t.test('with an IPC channel it sends its URLs there, and it exits when the channel closes', async t => {
  const child = fork(entry, [], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  t.teardown(() => child.kill('SIGKILL'))
  const [message] = await once(child, 'message')
  t.match(message, { event: 'listening', baseUrl: String })
  child.disconnect()
  t.same(await once(child, 'exit'), [0, null])
})

t.test('flags set host, port, gap between frames and TLS, and switch off the control endpoint', async t => {
  const child = start(t, [
    '--host=127.0.0.1',
    '--port=0',
    '--tick=1',
    '--no-control',
    `--tls-cert=${fixture('server.pem')}`,
    `--tls-key=${fixture('server.key')}`,
    `--tls-ca=${fixture('ca.pem')}`
  ])
  const line = await readLine(child)
  t.match(line.baseUrl, /^https:/)
  t.equal(line.controlUrl, null)
})

t.test('wrong flags print the usage on stderr and exit with code 2', async t => {
  for (const args of [['--nonsense'], ['--port=x'], ['--port=70000'], ['--tls-cert=a'], ['--tls-ca=a'], ['extra']]) {
    const child = start(t, args)
    const errors = readOutput(child.stderr)
    t.same(await once(child, 'exit'), [2, null], args.join(' '))
    t.match(await errors, /Usage:/)
  }
})

t.test('a port in use or a missing file makes the start fail with exit code 1', async t => {
  const child = start(t, [])
  const { baseUrl = '' } = await readLine(child)
  const second = start(t, ['--port', new URL(baseUrl).port])
  const errors = readOutput(second.stderr)
  t.same(await once(second, 'exit'), [1, null])
  t.match(await errors, /EADDRINUSE/)
  const third = start(t, ['--tls-cert=/nonexistent', '--tls-key=/nonexistent'])
  t.same(await once(third, 'exit'), [1, null])
})
