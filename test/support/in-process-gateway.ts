// Starts the whole gateway in the process of a test: the same supervisor, worker, writer and store as in processes of their own, connected by
// the same messages. It costs a tenth of a gateway of processes, so tests use it unless they are about processes: exits, signals,
// several workers, environment, stdout.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import type { Test } from 'tap'
import { createMessage } from '../../shared/ipc/checks.ts'
import type { ChildHost } from '../../shared/ipc/child-host.ts'
import type { LogOutput } from '../../shared/logging.ts'
import type { ResponseStore } from '../../shared/memory/store.ts'
import { readVersion } from '../../shared/version.ts'
import type { Children } from '../../supervisor/children.ts'
import { runGateway } from '../../supervisor/gateway.ts'
import { createLimitsProcess } from '../../supervisor/limits/redis/process.ts'
import { parseCommandLine, type StartOptions } from '../../supervisor/plan/command-line.ts'
import type { RuntimePlan } from '../../supervisor/plan/runtime-plan.ts'
import type { ForkChild } from '../../supervisor/processes/child-process.ts'
import { runService, type Service } from '../../supervisor/processes/service-process.ts'
import { createStoreProcess } from '../../supervisor/store/process.ts'
import { writerService } from '../../supervisor/writer/process.ts'
import { runWorker } from '../../worker/bootstrap.ts'
import { startGateway as startProcesses } from './gateway.ts'
import { findListeningUrl, type GatewayOptions, type ServingGateway } from './serving-gateway.ts'
import { createTemporaryFolder } from './temporary.ts'

export {
  emulatorVariables,
  type GatewayOptions,
  readLog,
  type ServingGateway,
  startEmulator
} from './serving-gateway.ts'

/**
 * Starts a gateway on a free port and waits until it listens. It stops with the test. One with several workers has processes of its own,
 * and so has a demo: its embedded upstream is a process that takes the Node options of its parent, and those of a test record coverage.
 */
export async function startGateway(t: Test, options: GatewayOptions = {}): Promise<ServingGateway> {
  const needsProcesses = Number(options.env?.GATEWAY_WORKERS ?? 1) > 1 || options.args?.includes('--demo') === true
  if (needsProcesses) return startProcesses(t, options)
  const folder = createTemporaryFolder(t)
  const variables = {
    GATEWAY_HOST: '127.0.0.1',
    GATEWAY_PORT: '0',
    GATEWAY_WORKERS: '1',
    GATEWAY_LOG_FILENAME: join(folder, 'gateway.log'),
    ...options.env
  }
  let output = ''
  let signalStop: () => void = () => undefined
  const reloadListeners: Array<() => void> = []
  const signalReload = () => {
    for (const listener of reloadListeners) listener()
  }
  let exitCode: number | undefined
  const listening = Promise.withResolvers<string>()
  const readOutput = (text: string) => {
    output += text
    const url = findListeningUrl(output)
    if (url !== undefined) listening.resolve(url)
  }
  const stdout = createOutput(text => {
    if (exitCode === undefined) readOutput(text)
  })
  const ended = runGateway(
    { environment: variables, options: readArguments(folder, options) },
    {
      version: readVersion(),
      signals: {
        onStop(listener) {
          signalStop = listener
        },
        onReopen: () => () => undefined,
        // It has no further process.
        onReplace: () => () => undefined,
        onReload(listener) {
          reloadListeners.push(listener)
          return () => undefined
        }
      },
      createChildren,
      stdout,
      writeError: readOutput,
      writeUsage: () => undefined,
      reportListening: () => undefined,
      // The test runner reports it.
      onUncaughtError: () => undefined,
      exit: failExit
    }
  ).then(code => {
    exitCode = code
    listening.reject(new Error(`The gateway ended with ${code} before it was ready:\n${output}`))
    return code
  })

  async function stop(): Promise<number> {
    if (exitCode === undefined) signalStop()
    return await ended
  }
  t.teardown(stop)
  const url = await listening.promise
  return { url, folder, interrupt: () => signalStop(), hangUp: () => signalReload(), stop }

  function createChildren(plan: RuntimePlan): Children {
    const runServiceIn = (service: Service) =>
      runInProcess(host => runService(service, host), createMessage({ kind: 'close-service' }), stdout)
    if (plan.settings.workers > 1) throw new Error('Several workers need processes: set GATEWAY_WORKERS in `env`.')
    return {
      forkWorker: runInProcess(
        host => runWorker({ loadApp: () => loadApp(options.memory) }, host),
        createMessage({ kind: 'close' }),
        stdout
      ),
      forkService: {
        writer: runServiceIn(writerService),
        store: runServiceIn(createStoreProcess()),
        limits: runServiceIn(createLimitsProcess())
      }
    }
  }
}

type WorkerModule = typeof import('../../worker/app.ts')

/** The worker's parts, with the store of the test where it has one. */
async function loadApp(memory: ResponseStore | undefined): Promise<Pick<WorkerModule, 'createWorkerApp'>> {
  const app = await import('../../worker/app.ts')
  if (memory === undefined) return app
  const { providerFaces } = await import('../../worker/protocols/registry.ts')
  const { providerKinds } = await import('../../worker/providers/registry.ts')
  const parts = { faces: providerFaces, kinds: providerKinds, memory }
  return { createWorkerApp: options => app.createWorkerApp(options, parts) }
}

/** Reads the flags as the command does. There is always a `.env` file, so that none of the folder of the tests is read. */
function readArguments(folder: string, { args = [], dotenv = '' }: GatewayOptions): StartOptions {
  const command = parseCommandLine(args)
  if (command.kind !== 'start') throw new Error(`These arguments start no gateway: ${args.join(' ')}`)
  const envFile = join(folder, '.env')
  writeFileSync(envFile, dotenv)
  return { envFile, ...command.options }
}

/** A stdout whose text goes to the function. */
function createOutput(take: (text: string) => void): LogOutput {
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      take(String(chunk))
      done()
    }
  })
  // No file, so lines are written to the stream.
  return Object.assign(stream, { fd: -1 })
}

/**
 * A child that runs in this process. Messages are copied and arrive later, as through a channel. A child that ends without its cooperation
 * gets the message that closes it, so that nothing of it stays open.
 */
function runInProcess(run: (host: ChildHost) => void, closeMessage: object, stdout: LogOutput): ForkChild {
  return listeners => {
    let isOver = false
    let receive: (value: unknown) => void = () => undefined
    let finish: () => void = () => undefined

    function end(code: number | null, signal: string | null): void {
      if (isOver) return
      isOver = true
      finish()
      if (code !== 0) receive(closeMessage)
      setImmediate(() => listeners.onExit({ code, signal }))
    }

    run({
      pid: process.pid,
      stdout,
      isConnected: true,
      send(message, sent) {
        if (isOver) return
        const copy: unknown = structuredClone(message)
        setImmediate(() => {
          listeners.onMessage(copy)
          sent?.()
        })
      },
      onMessage(listener) {
        receive = listener
      },
      // The supervisor of this process never exits before it.
      onDisconnect: () => undefined,
      onUncaughtError: () => undefined,
      onExit(listener) {
        finish = listener
      },
      limitFileRights: () => undefined,
      exit: code => end(code, null)
    })
    return {
      pid: process.pid,
      send(message) {
        const copy: unknown = structuredClone(message)
        setImmediate(() => {
          if (!isOver) receive(copy)
        })
      },
      kill: () => end(null, 'SIGKILL')
    }
  }
}

function failExit(): never {
  throw new Error('The gateway exits after an unexpected error.')
}
