// Entry point of the embedded upstream as a separate process: it prints one line of JSON when it listens, and exits when its
// parent exits.
import { fstatSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createEmulator, type Emulator, type EmulatorOptions } from './server.ts'

const USAGE = `Usage: main [--host H] [--port N] [--tick MS] [--no-control] [--tls-cert FILE --tls-key FILE [--tls-ca FILE]]`
const EXIT_FAILED = 1
const EXIT_USAGE = 2
const CLOSE_DEADLINE_MS = 2000

class UsageError extends Error {}

/**
 * Reads the command line.
 * @throws UsageError for an unknown flag or a wrong value, and the read error of a certificate file.
 */
function readOptions(args: string[]): EmulatorOptions {
  let values: ReturnType<typeof parseFlags>
  try {
    values = parseFlags(args)
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
  const options: EmulatorOptions = { control: values['no-control'] !== true }
  if (values.host !== undefined) options.host = values.host
  if (values.port !== undefined) options.port = readNumber('--port', values.port, 65_535)
  if (values.tick !== undefined) options.tickMs = readNumber('--tick', values.tick, 60_000)
  const { 'tls-cert': cert, 'tls-key': key, 'tls-ca': ca } = values
  if ((cert === undefined) !== (key === undefined)) throw new UsageError('--tls-cert and --tls-key belong together')
  if (cert === undefined || key === undefined) {
    if (ca !== undefined) throw new UsageError('--tls-ca needs --tls-cert and --tls-key')
    return options
  }
  options.tls = {
    cert: readFileSync(cert),
    key: readFileSync(key),
    ...(ca === undefined ? {} : { ca: readFileSync(ca), requestCert: true })
  }
  return options
}

function parseFlags(args: string[]) {
  return parseArgs({
    args,
    options: {
      host: { type: 'string' },
      port: { type: 'string' },
      tick: { type: 'string' },
      'no-control': { type: 'boolean' },
      'tls-cert': { type: 'string' },
      'tls-key': { type: 'string' },
      'tls-ca': { type: 'string' }
    }
  }).values
}

function readNumber(name: string, text: string, max: number): number {
  const value = Number(text)
  if (text === '' || !Number.isInteger(value) || value < 0 || value > max) {
    throw new UsageError(`${name} must be a whole number up to ${max}`)
  }
  return value
}

/** Prints the emulator's URLs on stdout and sends them over the IPC channel, when the process has one. */
function announce(emulator: Emulator): void {
  const { baseUrl, authUrl, controlUrl, chatBaseUrl, anthropicBaseUrl, googleBaseUrl, responsesBaseUrl } = emulator
  const message = {
    event: 'listening',
    baseUrl,
    authUrl,
    controlUrl,
    chatBaseUrl,
    anthropicBaseUrl,
    googleBaseUrl,
    responsesBaseUrl
  }
  process.stdout.write(`${JSON.stringify(message)}\n`)
  process.send?.(message)
}

/** Calls the listener when the parent process exits: its IPC channel closes, or the pipe on stdin ends. */
function onParentExit(listener: () => void): void {
  if (process.send !== undefined) {
    process.once('disconnect', listener)
    if (!process.connected) listener()
    return
  }
  if (!isPipe(0)) return
  process.stdin.once('end', listener)
  process.stdin.once('close', listener)
  process.stdin.once('error', listener)
  process.stdin.resume()
}

/** Only a pipe or a socket ends together with the parent; a terminal, a file or the null device does not. */
function isPipe(descriptor: number): boolean {
  try {
    const stat = fstatSync(descriptor)
    return stat.isFIFO() || stat.isSocket()
  } catch {
    return false
  }
}

async function run(): Promise<void> {
  const emulator = await createEmulator(readOptions(process.argv.slice(2)))
  let isClosing = false
  const close = () => {
    if (isClosing) return
    isClosing = true
    setTimeout(() => process.exit(EXIT_FAILED), CLOSE_DEADLINE_MS).unref()
    void emulator.close().then(() => process.exit(0))
  }
  process.on('SIGTERM', close)
  process.on('SIGINT', close)
  // A write to stdout fails when the parent has exited and its end of the pipe is closed.
  process.stdout.on('error', close)
  onParentExit(close)
  announce(emulator)
}

run().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  if (error instanceof UsageError) process.stderr.write(`${USAGE}\n`)
  process.exitCode = error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED
})
