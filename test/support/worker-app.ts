// Runs a complete worker in the process of a test, for parts that no setting of a started gateway can replace.

import { pino } from 'pino'
import type { Test } from 'tap'
import { createNativeProfileSet } from '../../shared/native-profile.ts'
import type { Settings } from '../../shared/settings.ts'
import { createWorkerApp, type WorkerApp, type WorkerAppOptions, type WorkerAppParts } from '../../worker/app.ts'
import { createLocalControlChannel } from '../../worker/control/control-channel.ts'

/** Options of a worker that is alone, with the native profile and without a log. */
export function workerOptions(settings: Settings): WorkerAppOptions {
  return {
    settings,
    profiles: createNativeProfileSet(settings),
    credentials: {},
    revisions: { config: `sha256:${'c'.repeat(64)}`, matrix: `sha256:${'d'.repeat(64)}` },
    workerId: 1,
    fingerprintKey: Buffer.alloc(32, 1),
    control: createLocalControlChannel(settings),
    log: pino({ level: 'silent' }),
    version: '0.0.0'
  }
}

/** Starts a worker on a free port; it closes with the test. */
export async function startWorker(
  t: Test,
  options: WorkerAppOptions,
  parts: WorkerAppParts
): Promise<{ app: WorkerApp; url: string }> {
  const app = await createWorkerApp(options, parts)
  t.teardown(() => app.close())
  const { port } = await app.listen({ host: '127.0.0.1', port: 0, reusePort: false })
  return { app, url: `http://127.0.0.1:${port}` }
}
