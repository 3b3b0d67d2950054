from grande_gnn.cli import main

main()
