// Storage: see Package.swift for its place in the house.
