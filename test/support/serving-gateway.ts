// What tests know of a gateway that serves, in processes of its own or in that of the test, and the upstream that it is pointed at.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createEmulator, type Emulator } from '../../ops/emulator/server.ts'
import type { ResponseStore } from '../../shared/memory/store.ts'
import type { Owner } from './owner.ts'

/** A gateway that serves, wherever it runs. */
export interface ServingGateway {
  /** Such as `http://127.0.0.1:41234`, without a path. */
  url: string
  /** The folder of its files: its log file is `gateway.log` there. */
  folder: string
  /** Sends SIGINT: it begins to stop, and a second signal ends running requests. */
  interrupt(): void
  /** Sends SIGHUP: it reads the keys file and the certificate again. */
  hangUp(): void
  /** Sends SIGTERM unless it has exited, and resolves with the exit code. */
  stop(): Promise<number | null>
}

/** The lines of the gateway's log file so far. One that is just being written is left out. */
export function readLog({ folder }: Pick<ServingGateway, 'folder'>): Array<Record<string, unknown>> {
  const text = readFileSync(join(folder, 'gateway.log'), 'utf8')
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n')
  return lines.filter(line => line.trim() !== '').map(line => JSON.parse(line) as Record<string, unknown>)
}

export interface GatewayOptions {
  /** More variables; an undefined value removes a default one. */
  env?: Record<string, string | undefined>
  args?: string[]
  /** Text of a `.env` file in the working directory. */
  dotenv?: string
  /** Where responses are stored; only of a gateway in the process of the test. */
  memory?: ResponseStore
}

/** Variables that point a gateway at an emulator. */
export function emulatorVariables(emulator: Emulator): Record<string, string> {
  return {
    UPSTREAM_BASE_URL: emulator.baseUrl,
    UPSTREAM_AUTH_URL: emulator.authUrl,
    UPSTREAM_CREDENTIALS: Buffer.from('client:secret').toString('base64')
  }
}

/** An emulator in this process that closes with the test. */
export async function startEmulator(t: Owner, options: Parameters<typeof createEmulator>[0] = {}): Promise<Emulator> {
  const emulator = await createEmulator(options)
  t.teardown(() => emulator.close())
  return emulator
}

/** The address in what a gateway wrote to stdout; undefined before it listens. */
export function findListeningUrl(output: string): string | undefined {
  // With `--demo` it prints a text for people instead of its log.
  const port = /"event":\s?"listening"[^\n]*"port":\s?(\d+)|listens on +http:\S+:(\d+)\n/.exec(output)
  return port === null ? undefined : `http://127.0.0.1:${port[1] ?? port[2]}`
}
