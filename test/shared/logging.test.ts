import { spawn, spawnSync } from 'node:child_process'
import { closeSync, constants, existsSync, openSync, readFileSync, readSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { execa } from 'execa'
import t from 'tap'
import { createTemporaryFolder } from '../support/temporary.ts'

const writer = join(import.meta.dirname, 'fixtures/log-writer.ts')

interface Run {
  environment?: Record<string, string>
  worker?: number
  isQuiet?: boolean
  knownSecrets?: string[]
  calls: unknown[][]
}

async function writeLog(run: Run) {
  const directory = createTemporaryFolder(t)
  const file = join(directory, 'gateway.log')
  const environment = { GATEWAY_LOG_FILENAME: file, ...run.environment }
  const { stdout } = await execa(process.execPath, [writer, JSON.stringify({ ...run, environment })])
  return { directory, file, stdout, text: readFileSync(file, 'utf8') }
}

const readLines = (text: string) =>
  text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Record<string, unknown>)

t.test(
  'operations 106: by default an event is one JSON object per line, the same on stdout and in the file',
  async t => {
    const { text, stdout, file } = await writeLog({
      worker: 2,
      calls: [['info', { request_id: 'r-1', event: 'http_access', status: 200 }, 'Request finished']]
    })
    const [line] = readLines(text)
    t.match(line, {
      level: 'INFO',
      msg: 'Request finished',
      request_id: 'r-1',
      event: 'http_access',
      status: 200,
      worker: 2
    })
    t.match(line?.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    t.type(line?.pid, 'number')
    t.same(readLines(stdout), [line])
    t.equal(statSync(file).mode & 0o777, 0o600)
  }
)

t.test('a plain line has the form of every other line', async t => {
  const { text } = await writeLog({
    worker: 2,
    calls: [
      ['info', { event: 'one', status: 200 }, 'Said "so"'],
      ['plain', '"event":"one","status":200', 'Said "so"']
    ]
  })
  const [line, plain] = readLines(text)
  t.same({ ...plain, time: '' }, { ...line, time: '' })
  t.same(Object.keys(plain ?? {}), Object.keys(line ?? {}))
  t.match(plain?.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})

t.test('a plain line is not written above its level', async t => {
  const { text } = await writeLog({
    environment: { GATEWAY_LOG_LEVEL: 'WARNING' },
    calls: [['plain', '"event":"one"', 'One']]
  })
  t.equal(text, '')
})

t.test('operations 106: the text format has local time, padded level, request id, message and extras', async t => {
  const { text } = await writeLog({
    environment: { GATEWAY_LOG_FORMAT: 'text' },
    calls: [
      ['info', 'Application startup complete'],
      ['warn', { request_id: 'r-1', event: 'model_concurrency_timeout', limit: 5, empty: null, name: 'é' }, 'Limit']
    ]
  })
  const [first, second] = text.split('\n')
  t.match(first, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \| INFO {5}\| - \| Application startup complete$/)
  t.match(second, / \| WARNING {2}\| r-1 \| Limit \| {"event": "model_concurrency_timeout", "limit": 5, "name": "é"}$/)
})

t.test('there are the five documented level names, and lines below the configured level are not written', async t => {
  const calls = ['debug', 'info', 'warn', 'error', 'fatal'].map(level => [level, level])
  const everything = await writeLog({ environment: { GATEWAY_LOG_LEVEL: 'DEBUG' }, calls })
  t.same(
    readLines(everything.text).map(line => line.level),
    ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL']
  )
  const severe = await writeLog({ environment: { GATEWAY_LOG_LEVEL: 'ERROR' }, calls })
  t.same(
    readLines(severe.text).map(line => line.level),
    ['ERROR', 'CRITICAL']
  )
})

t.test('an error is written with its type, message and stack, without its other members', async t => {
  const { text } = await writeLog({ calls: [['throw', 'it broke', 'While serving']] })
  const [line] = readLines(text)
  t.match(line, {
    level: 'ERROR',
    msg: 'While serving',
    err: { type: 'TypeError', message: 'it broke' },
    secret: '***'
  })
  t.match(line?.err, { stack: /log-writer\.ts/ })
})

t.test('client text cannot forge a line in either format', async t => {
  const forged = 'name\n2026-01-05 10:00:00 | CRITICAL | - | forged\u2028next\u009b2J'
  const calls = [
    ['info', { request_id: forged, model: forged }, forged],
    ['throw', forged, forged]
  ]
  const json = await writeLog({ calls })
  t.equal(readLines(json.text).length, 2)
  t.notMatch(json.text, /[\u2028\u009b]/)
  const plain = await writeLog({ environment: { GATEWAY_LOG_FORMAT: 'text' }, calls })
  t.notMatch(plain.text, /^2026-01-05/m)
  t.notMatch(plain.text, /[\u2028\u009b]/)
  t.match(plain.text, /name\\n2026-01-05/)
})

t.test(
  'operations 108: keys and patterns are masked in messages and extras, and configured secrets everywhere',
  async t => {
    const { text } = await writeLog({
      knownSecrets: ['configured-key-1'],
      calls: [
        [
          'info',
          { headers: { 'X-API-Key': 'hunter2' }, note: 'Bearer hunter2', max_tokens: 5 },
          'password=hunter2&x=1'
        ],
        ['info', 'sent configured-key-1 upstream']
      ]
    })
    t.notMatch(text, /hunter2|configured-key-1/)
    t.match(readLines(text)[0], {
      headers: { 'X-API-Key': '***' },
      note: 'Bearer ***',
      max_tokens: 5,
      msg: 'password=***&x=1'
    })
    const open = await writeLog({
      environment: { GATEWAY_LOG_REDACT_SENSITIVE: 'false' },
      calls: [['info', 'password=visible']]
    })
    t.match(open.text, /visible/)
  }
)

t.test('operations 109: in PROD a DEBUG line carries no payload', async t => {
  const calls = [['debug', { event: 'upstream_request', payload: { text: 'prompt' }, response: 'answer' }, 'Sent']]
  const environment = { GATEWAY_LOG_LEVEL: 'DEBUG', GATEWAY_MODE: 'PROD' }
  const { text } = await writeLog({ environment, calls })
  t.notMatch(text, /prompt|answer/)
  t.match(readLines(text)[0], { event: 'upstream_request', msg: 'Sent (payload omitted in PROD)' })
  const development = await writeLog({ environment: { GATEWAY_LOG_LEVEL: 'DEBUG' }, calls })
  t.match(development.text, /prompt/)
})

t.test('after a rename and reopen() lines go to a new file of the old name', async t => {
  const directory = createTemporaryFolder(t)
  const { text } = await writeLog({
    calls: [
      ['info', 'one'],
      ['rename', join(directory, 'old')],
      ['info', 'two']
    ]
  })
  t.match(readFileSync(join(directory, 'old'), 'utf8'), /one/)
  t.match(text, /two/)
  t.notMatch(text, /one/)
})

t.test('a quiet log writes only warnings and errors to stdout and every line to the file', async t => {
  const { text, stdout } = await writeLog({
    isQuiet: true,
    calls: [
      ['info', 'plain'],
      ['warn', 'careful']
    ]
  })
  t.same(
    readLines(stdout).map(line => line.msg),
    ['careful']
  )
  t.equal(readLines(text).length, 2)
})

t.test(
  'decisions.md 59: at most ten equal warnings are written in one second, but every failed upstream call',
  async t => {
    const calls = Array.from({ length: 25 }, () => ['warn', 'again'])
    const failed = Array.from({ length: 25 }, () => ['warn', { event: 'upstream_call_failed' }, 'failed'])
    const { text } = await writeLog({ calls: [...calls, ['warn', 'other'], ['error', 'again'], ...failed] })
    const lines = readLines(text)
    t.equal(lines.filter(line => line.msg === 'again' && line.level === 'WARNING').length, 10)
    t.equal(lines.filter(line => line.level === 'ERROR').length, 1)
    t.equal(lines.filter(line => line.event === 'upstream_call_failed').length, 25)
  }
)

t.test('a line tells how many equal warnings were suppressed', async t => {
  const calls = Array.from({ length: 25 }, () => ['warn', 'again'])
  const { text } = await writeLog({ calls: [...calls, ['wait', 'log_lines_suppressed']] })
  t.match(
    readLines(text).filter(line => line.event === 'log_lines_suppressed'),
    [{ level: 'INFO', count: 15, msg: 'Suppressed 15 equal lines: again' }]
  )
})

t.test('a stdout that is a file gets the same lines, and those of a full disk are lost without an error', t => {
  const directory = createTemporaryFolder(t)
  const file = join(directory, 'gateway.log')
  const calls = Array.from({ length: 200 }, (_, index) => ['info', { event: 'e', index }, `строка ${index}`])
  const run = JSON.stringify({ worker: 1, calls, environment: { GATEWAY_LOG_FILENAME: file } })
  const shown = join(directory, 'stdout.txt')
  for (const path of [shown, ...(existsSync('/dev/full') ? ['/dev/full'] : [])]) {
    const descriptor = openSync(path, 'w')
    t.equal(spawnSync(process.execPath, [writer, run], { stdio: ['ignore', descriptor, 'inherit'] }).status, 0)
    closeSync(descriptor)
  }
  const lines = readLines(readFileSync(shown, 'utf8'))
  t.same(
    lines.map(({ index }) => index),
    calls.map((_, index) => index)
  )
  t.same(readLines(readFileSync(file, 'utf8')).slice(0, 200), lines)
  t.end()
})

t.test('operations-log-stdout: a log file that leads to stdout or stderr gets each line once', async t => {
  const directory = createTemporaryFolder(t)
  const link = join(directory, 'link')
  symlinkSync('/dev/stdout', link)
  const calls = [
    ['warn', { event: 'e' }, 'one'],
    ['info', { event: 'e' }, 'two']
  ]
  const run = (file: string, worker?: number) =>
    JSON.stringify({ calls, ...(worker !== undefined && { worker }), environment: { GATEWAY_LOG_FILENAME: file } })
  const messages = (text: string) => readLines(text).map(({ msg }) => msg)
  // Node gives a child's stdout a socket; the shell puts a pipe in its place.
  for (const file of ['/dev/fd/1', '/proc/self/fd/1', link]) {
    const { stdout } = spawnSync(process.execPath, [writer, run(file, 1)], { encoding: 'utf8' })
    t.same(messages(stdout), ['one', 'two'], file)
  }
  const piped = spawnSync('sh', ['-c', '"$@" | cat', 'sh', process.execPath, writer, run('/dev/stdout')], {
    encoding: 'utf8'
  })
  t.same(messages(piped.stdout), ['one', 'two'])
  const path = join(directory, 'output')
  const descriptor = openSync(path, 'w')
  spawnSync(process.execPath, [writer, run('/dev/stdout')], { stdio: ['ignore', descriptor, 'inherit'] })
  closeSync(descriptor)
  t.same(messages(readFileSync(path, 'utf8')), ['one', 'two'])
  const stderr = spawnSync(process.execPath, [writer, run('/dev/stderr')], { encoding: 'utf8' })
  t.equal(stderr.stdout, '')
  t.same(messages(stderr.stderr), ['one', 'two'])
  const both = spawnSync('sh', ['-c', '"$@" 2>&1 | cat', 'sh', process.execPath, writer, run('/dev/stderr')], {
    encoding: 'utf8'
  })
  t.equal(readLines(both.stdout).length, 2)
})

t.test('lost lines are told once on stdout, and in the file when it takes lines again', async t => {
  const path = join(createTemporaryFolder(t), 'gateway.log')
  spawnSync('mkfifo', [path])
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  t.teardown(() => closeSync(pipe))
  // Each time more than a pipe holds.
  const calls = [['fill', 300], ['read'], ['fill', 300], ['read']]
  const run = { calls, environment: { GATEWAY_LOG_FILENAME: path } }
  const program = spawn(process.execPath, [writer, JSON.stringify(run)], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => program.kill())
  let text = ''

  const shown: number[] = []
  for await (const line of createInterface({ input: program.stdout })) {
    const { event, count, output } = JSON.parse(line) as Record<string, unknown>
    if (event !== 'log_lines_lost') continue
    t.equal(output, 'file')
    shown.push(Number(count))
    if (shown.length === 2) text += readPipe(pipe)
    program.stdin.write('go on')
  }
  const lines = readLines(text + readPipe(pipe))
  const stored = lines.filter(({ event }) => event === undefined).length
  const told = lines.filter(({ event }) => event === 'log_lines_lost')
  t.match(told, [{ output: 'file', count: 600 - stored }])
  t.equal(shown.length, 2, 'a file that takes no line causes no further line on stdout')
  t.equal((shown[0] ?? 0) + (shown[1] ?? 0), 600 - stored)
})

/** The bytes that wait in a pipe which only this test reads. */
function readPipe(descriptor: number): string {
  const block = Buffer.alloc(1024 * 1024)
  let text = ''
  for (;;) {
    try {
      text += block.toString('utf8', 0, readSync(descriptor, block))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return text
      throw error
    }
  }
}
