import t from 'tap'
import { countThreads, countWorkers, planMemory, planWriterRecords } from '../../shared/memory-plan.ts'
import { parseSettings } from '../../shared/settings.ts'
import { planAllocator } from '../../supervisor/processes/allocator.ts'
import { listMemoryWarnings } from '../../supervisor/startup-checks/memory.ts'

const MEBIBYTE = 1024 * 1024

t.test('operations-workers-300: six processors and 300 MiB are one worker with one thread', async t => {
  t.equal(countWorkers(6, 300 * MEBIBYTE), 1)
  t.equal(countThreads(6, 1, 300 * MEBIBYTE), 1)
  t.equal(countWorkers(6, 64 * MEBIBYTE), 1, 'there is always one')
  t.equal(countWorkers(6, 512 * MEBIBYTE), 2)
  t.equal(countWorkers(6, 8192 * MEBIBYTE), 6, 'never more than processors')
  t.equal(countWorkers(6, undefined), 6)
  t.equal(countThreads(6, 2, undefined), 3)
  t.equal(countThreads(2, 6, undefined), 1)
})

t.test('what the processes may take together stays within the limit wherever they fit', async t => {
  t.equal(
    planMemory({ limitBytes: undefined, workers: 4, services: 1, threadsPerWorker: 1, keepsContent: false }),
    undefined
  )
  for (const limit of [256, 300, 384, 512, 768, 1024, 2048, 8192]) {
    for (const workers of [1, 2, 4, 8]) {
      for (const services of [0, 1, 3]) {
        for (const threadsPerWorker of [0, 1, 4]) {
          const use = { limitBytes: limit * MEBIBYTE, workers, services, threadsPerWorker, keepsContent: false }
          const plan = planMemory(use)
          if (plan === undefined) throw new Error('There is a limit.')
          const { workerHeapBytes, semiSpaceBytes, threadHeapBytes, largeBytes } = plan
          t.ok(largeBytes >= 8 * MEBIBYTE, 'ordinary bodies are accepted under any limit')
          if (!plan.fits || threadHeapBytes === 32 * MEBIBYTE || workerHeapBytes === 56 * MEBIBYTE) continue
          const workerBytes = 48 * MEBIBYTE + workerHeapBytes + 3 * semiSpaceBytes
          const threadBytes = threadsPerWorker * (20 * MEBIBYTE + threadHeapBytes)
          const sum = workers * (workerBytes + threadBytes) + (1 + services) * 56 * MEBIBYTE
          t.ok(sum <= limit * MEBIBYTE, `${JSON.stringify(use)}: ${Math.round(sum / MEBIBYTE)} MiB`)
        }
      }
    }
  }
})

t.test(
  'records with content have a part of the memory: what waits in the writer, and a part of the large bodies',
  async t => {
    t.equal(planWriterRecords(undefined), 128 * MEBIBYTE)
    t.equal(planWriterRecords(64 * MEBIBYTE), 8 * MEBIBYTE)
    t.equal(planWriterRecords(1024 * MEBIBYTE), 16 * MEBIBYTE)
    t.equal(planWriterRecords(16_384 * MEBIBYTE), 128 * MEBIBYTE)
    const use = { limitBytes: 1024 * MEBIBYTE, workers: 2, services: 1, threadsPerWorker: 1 }
    const without = planMemory({ ...use, keepsContent: false })
    const plan = planMemory({ ...use, keepsContent: true })
    if (plan === undefined || without === undefined) throw new Error('There is a limit.')
    t.equal(without.largeBytes - plan.largeBytes, 8 * MEBIBYTE, 'those in the writer, by two workers')
    t.equal(plan.recordBytes, Math.floor(plan.largeBytes / 4))
  }
)

t.test('the default limit of bodies fits into 256 MiB, and the start says what does not', async t => {
  const settings = parseSettings({ GATEWAY_WORKERS: '1' })
  const warningsOf = (limit: number, services: number, environment = settings) => {
    const use = {
      limitBytes: limit * MEBIBYTE,
      workers: environment.workers,
      services,
      threadsPerWorker: 1,
      keepsContent: false
    }
    return listMemoryWarnings(environment, planMemory(use))
  }
  t.same(warningsOf(256, 0), [])
  t.match(warningsOf(256, 1), [
    /memory limit is too small for 1 workers/,
    /Bodies above \d+ bytes are refused with 503/
  ])
  t.match(warningsOf(512, 0, parseSettings({ GATEWAY_WORKERS: '8' })), [/too small for 8 workers/, /Bodies above/])
  t.same(warningsOf(1024, 1), [])
})

t.test('the allocator gives memory back unless the operator has tuned it', async t => {
  t.same(planAllocator({}), { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '1048576' })
  t.same(planAllocator({ MALLOC_ARENA_MAX: '8' }), { MALLOC_MMAP_THRESHOLD_: '1048576' })
})
