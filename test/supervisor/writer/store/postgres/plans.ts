// What a plan of Postgres, as `EXPLAIN (ANALYZE, FORMAT JSON)` shows it, reads of the tables.

export interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** All nodes of a plan that were executed. */
export function listNodes(node: PlanNode): PlanNode[] {
  const nodes = (node.Plans ?? []).flatMap(listNodes)
  return node['Actual Loops'] === 0 ? nodes : [node, ...nodes]
}

/** Rows of tables that were looked at, those that a filter left out included. */
export function countReadRows(nodes: readonly PlanNode[]): number {
  return nodes
    .filter(node => node['Relation Name'] !== undefined)
    .reduce((sum, node) => {
      const rows = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)
      return sum + rows * node['Actual Loops']
    }, 0)
}
