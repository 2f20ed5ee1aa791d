// Runs a complete worker in the process of a test, for parts that no setting of a started gateway can replace.

import { pino } from 'pino'
import type { Test } from 'tap'
import { createCatalogComposition } from '../../shared/catalog/catalog-composition.ts'
import { deriveCompactionKey } from '../../shared/compaction-key.ts'
import type { KeySet } from '../../shared/keys/key-set.ts'
import { createNativeProfileSet } from '../../shared/profile/native-profile.ts'
import type { ProfileSet } from '../../shared/profile/profile.ts'
import { computeConfigRevision } from '../../shared/profile/profile-revision.ts'
import type { Settings } from '../../shared/settings.ts'
import { matrixRevision } from '../../shared/support/support-matrix.ts'
import { createWorkerApp, type WorkerApp, type WorkerAppOptions, type WorkerAppParts } from '../../worker/app.ts'
import { createLocalControlChannel } from '../../worker/control/local-control-channel.ts'

/** Options of a worker that is alone and has no log; without other profiles it has the native one. */
export function workerOptions(
  settings: Settings,
  profiles: ProfileSet = createNativeProfileSet(settings),
  keySet?: KeySet
): WorkerAppOptions {
  const configRevision = computeConfigRevision(profiles)
  const composition = createCatalogComposition(profiles, { configRevision, startedAtMs: Date.now() })
  return {
    // Its file was read already.
    settings: keySet === undefined ? settings : { ...settings, keysFile: 'keys.yaml' },
    profiles,
    credentials: {},
    keys: keySet,
    revisions: { config: configRevision, matrix: matrixRevision },
    workerId: 1,
    fingerprintKey: Buffer.alloc(32, 1),
    compactionKey: deriveCompactionKey(settings),
    control: createLocalControlChannel(settings, { composition, profiles: profiles.profiles }),
    log: pino({ level: 'silent' }),
    writePlainLine: () => undefined,
    redactText: text => text,
    version: '0.0.0'
  }
}

/** Starts a worker on a free port, with the product's provider kinds unless given; it closes with the test. */
export async function startWorker(
  t: Test,
  options: WorkerAppOptions,
  parts?: WorkerAppParts
): Promise<{ app: WorkerApp; url: string }> {
  const app = await createWorkerApp(options, parts)
  t.teardown(() => app.close())
  const { port } = await app.listen({ host: '127.0.0.1', port: 0, reusePort: false })
  return { app, url: `http://127.0.0.1:${port}` }
}
