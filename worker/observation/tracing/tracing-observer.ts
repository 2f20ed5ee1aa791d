import type { ProfileSet } from '../../../shared/profile.ts'
import type { Settings } from '../../../shared/settings.ts'
import type { RequestObserver } from '../observer.ts'
import type { HeadSampler } from './head-sampler.ts'
import type { SpanWriter } from './span-writer.ts'

export interface TracingObserverOptions {
  readonly settings: Settings
  readonly profiles: ProfileSet
  readonly isSampledAtHead: HeadSampler
  readonly writer: SpanWriter
}

export function createTracingObserver(_options: TracingObserverOptions): RequestObserver {
  return { name: 'tracing' }
}
