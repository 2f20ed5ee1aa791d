// What the memory limit of the container leaves no room for (decisions.md 99).
import type { MemoryPlan } from '../../shared/memory-plan.ts'
import { listServices, planGatewayMemory } from '../../shared/services.ts'
import type { Settings } from '../../shared/settings.ts'
import type { Findings } from './findings.ts'

export function checkMemory(settings: Settings, findings: Findings): void {
  for (const warning of listMemoryWarnings(settings, planGatewayMemory(settings))) findings.warn(warning)
}

/** `plan`: undefined where there is no memory limit. */
export function listMemoryWarnings(settings: Settings, plan: MemoryPlan | undefined): string[] {
  if (plan === undefined) return []
  const { workers, maxRequestBodyBytes } = settings
  const warnings: string[] = []
  if (!plan.fits) {
    const services = listServices(settings).length
    warnings.push(
      `The memory limit is too small for ${workers} workers and ${services} further processes: give the container more memory, or fewer GATEWAY_WORKERS.`
    )
  }
  if (maxRequestBodyBytes > plan.bodyBytesMax) {
    warnings.push(
      `Bodies above ${plan.bodyBytesMax} bytes are refused with 503 under the memory limit, although GATEWAY_MAX_REQUEST_BODY_BYTES accepts ${maxRequestBodyBytes}.`
    )
  }
  return warnings
}
