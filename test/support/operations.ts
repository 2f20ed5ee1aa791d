// Operations for tests that start only parts of a worker.

import type { FastifyInstance } from 'fastify'
import { mountOperations, type OperationHandler } from '../../worker/http/mount-operations.ts'
import type { Operation } from '../../worker/operations/operation.ts'
import { readOperationPath, writeTemplate } from '../../worker/operations/path.ts'
import { operations } from '../../worker/operations/table.ts'

/**
 * The operation of the product that metrics and logs show under this template; undefined without
 * one.
 */
export function findOperation(template: string): Operation | undefined {
  return operations.find((operation: Operation) => {
    const path = writeTemplate(readOperationPath(operation))
    return operation.prefixes.some(prefix => prefix + path === template)
  })
}

type Given = Pick<Operation, 'method' | 'path' | 'family' | 'isModelRequest'> & Partial<Pick<Operation, 'prefixes'>>

/** Mounts an operation with this handler, by default at the root, under `/v1` and under `/v2`. */
export function mountOperation(
  app: FastifyInstance,
  { handler, ...given }: Given & { handler: OperationHandler }
): void {
  const operation = { id: 'test', prefixes: ['', '/v1', '/v2'], tag: 'OpenAI / Models', summary: '', ...given } as const
  mountOperations(app, [operation], { test: handler })
}
