// Gateways of processes that store responses in a SQLite file, and what their clients see of the store.
import { join } from 'node:path'
import type { Test } from 'tap'
import { type HttpResponse, post } from './client.ts'
import {
  emulatorVariables,
  type ProcessOptions,
  readLog,
  type StartedGateway,
  startEmulator,
  startGateway
} from './gateway.ts'
import { waitUntil } from './processes.ts'

export const STORE_MODEL = 'GigaChat-2-Max'

export interface StoreGateway extends StartedGateway {
  /** The file of the store, as the gateway sees it. */
  readonly file: string
}

/** Starts a gateway with two workers and metrics. */
export async function startStoreGateway(t: Test, { env, ...options }: ProcessOptions = {}): Promise<StoreGateway> {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, {
    ...options,
    env: {
      ...emulatorVariables(emulator),
      GATEWAY_WORKERS: '2',
      GATEWAY_METRICS_ENABLED: 'true',
      GATEWAY_RESPONSES_STORE_DSN: 'sqlite:responses.sqlite',
      ...env
    }
  })
  return { ...gateway, file: join(gateway.folder, 'responses.sqlite') }
}

/** The process ids of the store processes so far, in the order in which they became ready. */
export function readStorePids(gateway: Pick<StoreGateway, 'folder'>): number[] {
  return readLog(gateway)
    .filter(({ event }) => event === 'store_ready')
    .map(({ store_pid }) => Number(store_pid))
}

/** The process that holds the store now. */
export function readStorePid(gateway: Pick<StoreGateway, 'folder'>): number {
  const pid = readStorePids(gateway).at(-1)
  if (pid === undefined) throw new Error('The gateway has no store process.')
  return pid
}

/** Kills the store process without its cooperation and waits for the next one. */
export async function killStore(gateway: Pick<StoreGateway, 'folder'>): Promise<void> {
  const { length } = readStorePids(gateway)
  process.kill(readStorePid(gateway), 'SIGKILL')
  await waitUntil(() => readStorePids(gateway).length > length, 'a new store process is ready')
}

/** One request of a client that stores. */
export function respond(gateway: Pick<StoreGateway, 'url'>, body: object): Promise<HttpResponse> {
  return post(`${gateway.url}/v1/responses`, { model: STORE_MODEL, ...body })
}
