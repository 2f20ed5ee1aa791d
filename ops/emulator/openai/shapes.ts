// The form that a response has on a single service of the chat wire: by the directive `shape`, or by the name of its model.
import type { ResponseContext } from '../chat-wire.ts'
import type { ShapeName } from '../directive-steps.ts'
import { serverShapes } from '../shape-servers.ts'
import { serviceShapes } from '../shape-services.ts'
import type { ChatShape } from '../shape-tools.ts'
import { findShapeOf } from './models.ts'

const shapes: Readonly<Record<ShapeName, ChatShape>> = { ...serviceShapes, ...serverShapes }

export function findShape(name: ShapeName | undefined): ChatShape | undefined {
  return name === undefined ? undefined : shapes[name]
}

/** The shape of a response, by the directive or by the model, and its context with what the service implies. */
export function applyShape(context: ResponseContext): { shape: ChatShape | undefined; context: ResponseContext } {
  const { plan, request } = context
  const shape = findShape(plan.step.shape ?? findShapeOf(request.model))
  if (shape?.step === undefined) return { shape, context }
  return { shape, context: { ...context, plan: { ...plan, step: { ...shape.step, ...plan.step } } } }
}
