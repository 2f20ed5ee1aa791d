// The store of responses as a service of the supervisor: opens the database and the socket, and closes them.
import { withDeadline } from '../../shared/deadline.ts'
import { EXCHANGE_MS_MAX, type SharedCounters } from '../../shared/limits/shared-counters.ts'
import { readStoreDsn, readStoreKey } from '../../shared/memory/dsn.ts'
import { hostNowMs } from '../../shared/memory/frames.ts'
import { listStoreSecrets, readStoreSettings, type StoreSettings } from '../../shared/settings/store-settings.ts'
import type { RunningService, Service, ServiceFailure, ServiceStart } from '../processes/service-process.ts'
import { type OpenEngine, StoreOpenError } from './engine.ts'
import { openEngine } from './open-engine.ts'
import { createStoreServer } from './server.ts'
import { createStoreService, type KeptStoreService } from './service.ts'
import type { Spend } from './spend.ts'

/** Bounds of the steps of the end, as those of the writer: the supervisor gives all processes five seconds together. */
const DRAIN_MS_MAX = 500
const CLOSE_MS_MAX = 500

/** The store with the engines of the product, or with another one. */
export function createStoreProcess(open: OpenEngine = openEngine): Service {
  return { name: 'store', title: 'store of responses', start: start => startStore(start, open), explainFailure }
}

async function startStore(
  { settings: transferred, socketPath, gatewayId, registry, openLog }: ServiceStart,
  open: OpenEngine
): Promise<RunningService> {
  const settings = readStoreSettings(transferred)
  const log = openLog(settings, listStoreSecrets(settings))
  const options = { ...readEngineSettings(settings), nowMs: Date.now, log }
  const service = await createStoreService({ log, nowMs: hostNowMs, open: () => open(options) })
  const server = createStoreServer({ service, log, nowMs: hostNowMs })
  await server.listen(socketPath)
  const endProbes = registry && (await import('./metrics.ts')).watchTotals(registry, service.totals)
  return {
    counters: createSpendCounters(service, gatewayId),
    async close() {
      endProbes?.()
      // The workers have exited, but their last questions may not be read yet.
      await withDeadline(server.drained(), DRAIN_MS_MAX)
      await withDeadline(server.close(), CLOSE_MS_MAX)
      await service.close()
    }
  }
}

/** Of the counters that hosts share the store holds budgets alone; it has no answer about others. */
function createSpendCounters({ addSpend }: Pick<KeptStoreService, 'addSpend'>, gatewayId: string): SharedCounters {
  return {
    async exchange(exchangeId, questions) {
      const spends = questions.flatMap((question): Spend[] => (question.kind === 'spend' ? [question] : []))
      if (spends.length < questions.length) return undefined
      const sums = addSpend({ gatewayId, exchangeId, spends }).catch(() => undefined)
      return (await withDeadline(sums, EXCHANGE_MS_MAX))?.map(spentNanos => ({ kind: 'spend', spentNanos }))
    }
  }
}

function readEngineSettings(settings: StoreSettings) {
  return {
    // The supervisor starts this process only where it is set.
    dsn: settings.responsesStoreDsn?.reveal() ?? '',
    key: readKey(settings, 'responsesStoreKey'),
    previousKey: readKey(settings, 'responsesStoreKeyPrevious'),
    maxBytes: settings.responsesStoreMaxBytes,
    maxBytesPerOwner: settings.responsesStoreMaxBytesPerKey,
    retentionDays: settings.responsesStoreRetentionDays,
    autoMigrate: settings.responsesStoreAutoMigrate ?? isLocal(settings),
    workers: settings.workers
  }
}

function isLocal({ responsesStoreDsn }: StoreSettings): boolean {
  return responsesStoreDsn !== undefined && readStoreDsn(responsesStoreDsn.reveal())?.kind === 'sqlite'
}

/** Undefined where the setting is unset. The preflight has refused a text that is no key. */
function readKey(settings: StoreSettings, name: 'responsesStoreKey' | 'responsesStoreKeyPrevious'): Buffer | undefined {
  const text = settings[name]?.reveal()
  if (text === undefined) return undefined
  const key = readStoreKey(text)
  if (key === undefined) throw new StoreOpenError('key_wrong', 'a key of the store of responses has not 32 bytes')
  return key
}

/** A later start does not help against an error that only the operator can remove. */
function explainFailure(error: unknown): ServiceFailure | undefined {
  return error instanceof StoreOpenError ? { reason: 'configuration', detail: error.message } : undefined
}
